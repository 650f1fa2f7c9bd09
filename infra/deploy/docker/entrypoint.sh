#!/bin/sh
# Gives the password of the database to all that runs here, later commands too, as libpq's own file: no variable holds it.
set -eu
secret=${LONGWAVE_PASSWORD_FILE:-/run/secrets/postgres_password}
if [ -r "$secret" ]; then
    (umask 077 && printf '*:*:*:*:%s\n' "$(sed 's/[\\:]/\\&/g' "$secret")" > "$HOME/.pgpass")
fi
exec "$@"

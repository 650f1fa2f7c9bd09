#!/bin/sh
# Writes the database password to a file of libpq, which every command here reads, so that no variable contains it.
set -eu
secret=${LONGWAVE_PASSWORD_FILE:-/run/secrets/postgres_password}
if [ -r "$secret" ]; then
    (umask 077 && printf '*:*:*:*:%s\n' "$(sed 's/[\\:]/\\&/g' "$secret")" > "$HOME/.pgpass")
fi
exec "$@"

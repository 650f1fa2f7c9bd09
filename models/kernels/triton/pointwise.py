"""The cells' equations between two matrix products, on vectors of d numbers.

Forward part k: ``(s, a, x, m, p, u) -> (s, a, x)``. s holds the states, a the drives, which become the
pre-activations, x what else backward wants, m the products of this part, p the scalars, u the vectors.
Backward part k: ``(g, s, a, x, p, u) -> (g, o, q)``. g holds the states' adjoints, s the states before the step, o the
adjoints of the products, q the terms of the scalars' gradients. The schedule adds the products that follow to g.
"""

# mypy: ignore-errors
# Triton's language looks like Python but its tuples and constants have no types there.
import triton
import triton.language as tl


@triton.jit
def sigmoid(x):
    """Return σ(x)."""
    # Far below 0 exp(−x) is infinite, and 1 / ∞ the right limit.
    return 1.0 / (1.0 + tl.exp(-x))


@triton.jit
def tanh(x):
    """Return tanh x, to 3e-7 of itself.

    libdevice's does not run in the interpreter. The form with exp loses digits near 0, so a polynomial takes over for
    |x| < 0.625, that of tanhf in the Cephes library.
    """
    t = x * x
    p = (((-5.70498872745e-3 * t + 2.06390887954e-2) * t - 5.37397155531e-2) * t + 1.33314422036e-1) * t
    near = x + x * t * (p - 3.33332819422e-1)
    return tl.where(t < 0.390625, near, 1.0 - 2.0 / (1.0 + tl.exp(2.0 * x)))


@triton.jit
def lem_1(s, a, x, m, p, u):
    """z += δ (tanh(az) − z)."""
    y, z = s
    a1, az, a2 = a[0] + m[0], a[1] + m[1], a[2] + m[2]
    z += p[0] * sigmoid(a1) * (tanh(az) - z)
    return (y, z), (a1, az, a2, a[3]), x


@triton.jit
def lem_2(s, a, x, m, p, u):
    """y += δ̄ (tanh(ay) − y)."""
    y, z = s
    ay = a[3] + m[0]
    y += p[0] * sigmoid(a[2]) * (tanh(ay) - y)
    return (y, z), (a[0], a[1], a[2], ay), x


@triton.jit
def lem_back_1(g, s, a, x, p, u):
    """Emit the adjoints of a2 and ay. Wyᵀ of the latter belongs to z."""
    gy, gz = g
    r, c = sigmoid(a[2]), tanh(a[3])
    step, gap = gy * r, c - s[0]
    o = (p[0] * step * (1 - r) * gap, p[0] * step * (1 - c * c))
    return (gy - p[0] * step, gz), o, (step * gap,)


@triton.jit
def lem_back_2(g, s, a, x, p, u):
    """Emit the adjoints of a1 and az."""
    gy, gz = g
    r, c = sigmoid(a[0]), tanh(a[1])
    step, gap = gz * r, c - s[1]
    o = (p[0] * step * (1 - r) * gap, p[0] * step * (1 - c * c))
    return (gy, gz - p[0] * step), o, (step * gap,)


@triton.jit
def cornn_1(s, a, x, m, p, u):
    """z = κ (δ z + Δt (tanh(a) − γ y)), y += Δt z."""
    y, z = s
    pre = a[0] + m[0]
    z = p[2] * (p[3] * z + p[0] * (tanh(pre) - p[1] * y))
    return (y + p[0] * z, z), (pre,), x


@triton.jit
def cornn_back_1(g, s, a, x, p, u):
    """Emit the adjoint of a; the terms of Δt, γ, κ, δ."""
    gy, gz = g
    y, z = s
    c = tanh(a[0])
    force = c - p[1] * y
    inner = p[3] * z + p[0] * force
    total = gz + p[0] * gy
    xi = p[2] * total
    q = (gy * (p[2] * inner) + xi * force, -p[0] * xi * y, total * inner, xi * z)
    return (gy - p[0] * p[1] * xi, p[3] * xi), (p[0] * xi * (1 - c * c),), q


@triton.jit
def euler_1(s, a, x, m, p, u):
    """h += εA h + ε tanh(a); the schedule's matrix is εA."""
    pre = a[0] + m[1]
    return (s[0] + m[0] + p[0] * tanh(pre),), (pre,), x


@triton.jit
def euler_back_1(g, s, a, x, p, u):
    """Emit the adjoints of εA h, which is h's, and of a; the term of the ε before tanh."""
    c = tanh(a[0])
    return g, (g[0], p[0] * g[0] * (1 - c * c)), (g[0] * c,)


@triton.jit
def rk2_1(s, a, x, m, p, u):
    """Keep the midpoint h + (εA h + ε tanh(a1)) / 2, and the drive for the second part."""
    pre = a[0] + m[1]
    return s, (pre,), (s[0] + 0.5 * (m[0] + p[0] * tanh(pre)), a[0])


@triton.jit
def rk2_2(s, a, x, m, p, u):
    """h += εA k + ε tanh(a2), k the midpoint."""
    pre = x[1] + m[1]
    return (s[0] + m[0] + p[0] * tanh(pre),), a, (x[0], pre)


@triton.jit
def rk2_back_1(g, s, a, x, p, u):
    """Emit the adjoints of εA k, which is h's, and of a2. Their products are the second of g, the midpoint's."""
    c = tanh(x[1])
    return (g[0], tl.zeros_like(c)), (g[0], p[0] * g[0] * (1 - c * c)), (g[0] * c,)


@triton.jit
def rk2_back_2(g, s, a, x, p, u):
    """Emit the adjoints of εA h, half the midpoint's, and of a1."""
    c, half = tanh(a[0]), 0.5 * g[1]
    return (g[0] + g[1], g[1]), (half, p[0] * half * (1 - c * c)), (half * c,)


@triton.jit
def tau_gru_1(s, a, x, m, p, u):
    """h += g (β tanh(au) + α σ(aa) tanh(az) − h); az holds its product already."""
    h = s[0]
    au, ag, aa = a[0] + m[0], a[2] + m[1], a[3] + m[2]
    h += sigmoid(ag) * (p[1] * tanh(au) + p[0] * sigmoid(aa) * tanh(a[1]) - h)
    return (h,), (au, a[1], ag, aa), x


@triton.jit
def tau_gru_now_1(s, a, x, m, p, u):
    """As ``tau_gru_1``, with az's product the last of m."""
    return tau_gru_1(s, (a[0], a[1] + m[3], a[2], a[3]), x, m, p, u)


@triton.jit
def tau_gru_back_1(g, s, a, x, p, u):
    """Emit the adjoints of au, az, ag, aa; the terms of α and β."""
    r, c, w, z = sigmoid(a[2]), tanh(a[0]), sigmoid(a[3]), tanh(a[1])
    v = g[0] * r
    feedback = v * w * z
    gate = g[0] * (p[1] * c + p[0] * w * z - s[0]) * r * (1 - r)
    o = (p[1] * v * (1 - c * c), p[0] * v * w * (1 - z * z), gate, p[0] * feedback * (1 - w))
    return (g[0] - v,), o, (feedback, v * c)


@triton.jit
def lstm_1(s, a, x, m, p, u):
    """c = f c + i tanh(ag), h = o tanh(c)."""
    i, f, g, o = a[0] + m[0], a[1] + m[1], a[2] + m[2], a[3] + m[3]
    c = sigmoid(f) * s[1] + sigmoid(i) * tanh(g)
    return (sigmoid(o) * tanh(c), c), (i, f, g, o), x


@triton.jit
def lstm_back_1(g, s, a, x, p, u):
    """Emit the adjoints of the four pre-activations. c is computed again rather than loaded."""
    i, f, n, o = sigmoid(a[0]), sigmoid(a[1]), tanh(a[2]), sigmoid(a[3])
    c = tanh(f * s[1] + i * n)
    gc = g[1] + g[0] * o * (1 - c * c)
    adjoints = (gc * n * i * (1 - i), gc * s[1] * f * (1 - f), gc * i * (1 - n * n), g[0] * c * o * (1 - o))
    return (tl.zeros_like(gc), gc * f), adjoints, ()


@triton.jit
def gru_1(s, a, x, m, p, u):
    """h = ñ + s (h − ñ), ñ = tanh(en + r (W h + c))."""
    ar, gate, inner = a[0] + m[0], a[1] + m[1], m[2] + u[0]
    an = a[2] + sigmoid(ar) * inner
    n = tanh(an)
    return (n + sigmoid(gate) * (s[0] - n),), (ar, gate, an), (inner,)


@triton.jit
def gru_back_1(g, s, a, x, p, u):
    """Emit the adjoints of ar, as, an, and of W h + c inside ñ."""
    r, w, n = sigmoid(a[0]), sigmoid(a[1]), tanh(a[2])
    gn = g[0] * (1 - w) * (1 - n * n)
    o = (gn * x[0] * r * (1 - r), g[0] * (s[0] - n) * w * (1 - w), gn, gn * r)
    return (g[0] * w,), o, ()

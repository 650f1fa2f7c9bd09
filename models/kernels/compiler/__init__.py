"""The compiler of recurrent steps: how the few lines of a layer's ``drive`` and ``step`` become a fused time loop.

A loop in Python costs more than its arithmetic: each of some twenty calls a step takes microseconds, forward and again
backward. Here the step is written once, in plain torch, and everything else follows from it:

1. **Trace** (recorder, invariants, rows, lowering, trace). ``drive`` and ``step`` run once on tensors without numbers,
   and every call of torch is recorded. What no state or input enters, like σ(ζ) or M − Mᵀ, is an *invariant*: torch
   computes it at each call, with autograd, from the weights of that call. All other calls become *nodes* on rows of d
   numbers: ``lerp(z, tanh(a), δ)`` is a sum of products of a few nodes. What is detached, or made under ``no_grad``, is
   a *stop*: the same number, through which no gradient passes. Options and Python's branches are gone by then: all that
   they were decided by is compared at each call (watch, names, kinds, reads, locations), and lengths of batches and
   sequences may decide on nothing (sizes).
2. **Sums** (sums). All products that are added up become one sum, which begins with its part of the drive:
   ``W y + 𝒲 z + V x + b`` of coRNN. The drive of many steps at once is one product, done before.
3. **Way back** (derivatives). One rule for each operation, applied from the adjoints of the new states to those of the
   old ones; what a matrix multiplied, and the adjoint of the product, go to a *slot*: the matrix's gradient is a
   product of the two over many steps at once. Nothing here is differentiated by torch. Then the stops go.
4. **Plan** (blocks, plan). Both directions are cut into *blocks*: sums that read the same rows, and what can be done
   once they are there, unit by unit, in registers. A value that a later block needs, or the way back, is stored if it
   was dear (a sum, a tanh), and computed again if it was cheap. What is stored takes the place of what is dead: σ(a)
   lies where the drive of a was.
5. **Print** (listing here, ``cpu.emit``, and for a GPU ``triton``). The plan as Python, to read and to test; as C++,
   which is compiled once a machine for each different text.

On a CPU the way back asks for the rows of the step before its own while it computes; where a call keeps more than the
cache holds, its rows are sent past the cache, for they are not read again soon. On a GPU a step's rows are loaded while
the step before it runs.

LEM, whose loop keeps 4 rows a step (δ, δ̄ and both tanh, where the drives were)::

    step       y ──► [W1 Wz W2] y + e ──►  δ = Δt σ(·)  z' = z + δ (tanh(·) − z)   block 1: 3 sums over y
                                           └─ keeps σ, tanh, σ                │
                                  Wy z' + e ◄─────────────────────────────────┘    block 2: 1 sum over z'
                                  └──►  δ̄ = Δt σ(·)  y' = y + δ̄ (tanh(·) − y)      keeps tanh

    way back   ∂y' ──► slots of y and 2                                            block 0: no product
               Wyᵀ (slot y) + ∂z' ──► slots of z and 1, ∂z                         block 1
               [W1 Wz W2]ᵀ (slots) + (1 − δ̄) ∂y' ──► ∂y                            block 2: one long sum

    a chunk    W1, Wz, W2 get (slots 1, z, 2) yᵀ, and Wy gets (slot y) z'ᵀ, of some hundred steps in one product

``longwave models lem --kernel`` prints it all. What the compiler does not know (``Unsupported``) is no error: the layer
takes its reference loop, and ``layer.why()`` names the operation and the line.

May import: torch, longwave.models.kernels.compiler.
To add an operation of torch: a line in ``lowering``; if the others cannot express it, also one in ``derivatives`` and
in each printer's table.
"""

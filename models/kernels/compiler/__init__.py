"""The compiler of recurrent steps: how the few lines of a layer's ``drive`` and ``step`` become a fused time loop.

A loop in Python costs more than its arithmetic: each of some twenty calls a step takes microseconds, forward and again
backward. Here the step is written once, in plain torch, and everything else follows from it:

1. **Trace** (recorder, invariants, rows, lowering, trace). ``drive`` and ``step`` run once on tensors without values,
   and every call of torch is recorded. A value that depends on no state or input, like σ(ζ) or M − Mᵀ, is an
   *invariant*: torch computes it at each call, with autograd, from the current weights. All other calls become *nodes*
   on rows of d numbers: ``lerp(z, tanh(a), δ)`` is a sum of products of a few nodes. A value that is detached, or
   computed under ``no_grad``, is a *stop*: the same number, without a gradient. Options and Python's branches are
   resolved at this point: all values on which they depend are compared at each call (watch, names, kinds, reads,
   locations), and they must not depend on batch or sequence lengths (sizes).
2. **Sums** (sums). All products that are added up become one sum, which begins with its part of the drive:
   ``W y + 𝒲 z + V x + b`` of coRNN. The drive of many steps at once is one product, computed beforehand.
3. **Backward pass** (derivatives). One rule per operation, applied from the adjoints of the new states to those of the
   old ones; the row that a matrix multiplied, and the adjoint of the product, go to a *slot*: the matrix's gradient is
   a product of the two over many steps at once. Torch's autograd is not involved. Then the stops are removed.
4. **Plan** (blocks, plan). Both directions are split into *blocks*: sums that read the same rows, and the operations
   that then follow unit by unit, in registers. A value needed by a later block or by the backward pass is stored if it
   was expensive (a sum, a tanh), and recomputed if it was cheap. Stored values reuse the memory of dead ones: σ(a)
   overwrites the drive of a.
5. **Print** (listing here, ``cpu.emit``, and for a GPU ``triton``). The plan as Python, to read and to test; as C++,
   which is compiled once per machine for each different text.

On a CPU the backward pass prefetches the rows of the preceding step while it computes; if a call stores more than the
cache holds, its rows bypass the cache, as they are not read again soon. On a GPU a step's rows are loaded while the
previous step runs.

LEM, whose loop keeps 4 rows a step (δ, δ̄ and both tanh, where the drives were)::

    step       y ──► [W1 Wz W2] y + e ──►  δ = Δt σ(·)  z' = z + δ (tanh(·) − z)   block 1: 3 sums over y
                                           └─ keeps σ, tanh, σ                │
                                  Wy z' + e ◄─────────────────────────────────┘    block 2: 1 sum over z'
                                  └──►  δ̄ = Δt σ(·)  y' = y + δ̄ (tanh(·) − y)      keeps tanh

    backward   ∂y' ──► slots of y and 2                                            block 0: no product
               Wyᵀ (slot y) + ∂z' ──► slots of z and 1, ∂z                         block 1
               [W1 Wz W2]ᵀ (slots) + (1 − δ̄) ∂y' ──► ∂y                            block 2: one long sum

    a chunk    W1, Wz, W2 get (slots 1, z, 2) yᵀ, and Wy gets (slot y) z'ᵀ, of some hundred steps in one product

``longwave models lem --kernel`` prints it all. An unsupported operation (``Unsupported``) is not an error: the layer
uses its reference loop, and ``layer.why()`` names the operation and the line.

May import: torch, longwave.models.kernels.compiler.
To add an operation of torch: a line in ``lowering``; if the others cannot express it, also one in ``derivatives`` and
in each printer's table.
"""

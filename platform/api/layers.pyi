"""Every layer as a plain module. Written by ``make freeze`` from what the models declare."""

from typing import Literal

from longwave.platform.api.graph_module import GraphModule
from longwave.platform.api.plain_module import Hyper
from longwave.platform.api.sequence_module import Only, SequenceModule

__all__ = [
    "ALRNN",
    "AntisymmetricRNN",
    "BMRU",
    "ChronoLSTM",
    "CitationGraphCON",
    "CoRNN",
    "DLinOSS",
    "DeltaNet",
    "DeltaProduct",
    "DtLSTM",
    "ExpRNN",
    "FastGRNN",
    "FastRNN",
    "G2",
    "GAT",
    "GCN",
    "GRU",
    "GatedAntisymmetricRNN",
    "GatedDeltaNet",
    "GatedDeltaProduct",
    "GraphCON",
    "GraphSAGE",
    "HORN",
    "IncrementalRNN",
    "IndRNN",
    "LEM",
    "LRU",
    "LSTM",
    "LinOSS",
    "LipschitzRNN",
    "LrcSSM",
    "MLP",
    "MLSTM",
    "Mamba",
    "Mamba2",
    "MinGRU",
    "MinLSTM",
    "MultilayerOscillator",
    "NeuralODERNN",
    "NeuralOscillator",
    "ParaGRU",
    "ParaLSTM",
    "RGLRU",
    "RWKV7",
    "ResidualUnICORNN",
    "S4D",
    "S5",
    "SLSTM",
    "SimpleDelayGRU",
    "TanhRNN",
    "TauGRU",
    "Transformer",
    "UnICORNN",
]

class ALRNN(SequenceModule):
    """Almost-linear recurrent network of dynamical systems reconstruction, (B, T, p) to (B, T, d)."""

    def __init__(
        self,
        inputs: int,
        hidden: int,
        *,
        rectified: Literal[1, 2, 3, 5, 10] = 2,
        t_max: int = 1,
        num_layers: int = 1,
        bidirectional: bool = False,
        dropout: float = 0.0,
        width: int | None = None,
        block: Literal["none", "post", "pre"] = "none",
        norm: Literal["batch", "layer", "none", "rms", "running"] = "layer",
        nonlinearity: Literal["gelu", "none", "relu", "silu", "tanh"] = "gelu",
        glu: Literal["full", "half", "none"] = "full",
        conv: Literal[0, 2, 3, 4] = 0,
        only: Only | None = None,
    ) -> None: ...
    @property
    def rectified(self) -> Literal[1, 2, 3, 5, 10]: ...

class AntisymmetricRNN(SequenceModule):
    """Antisymmetric recurrent unit, (B, T, p) to (B, T, d)."""

    def __init__(
        self,
        inputs: int,
        hidden: int,
        *,
        epsilon: Hyper,
        gamma: Hyper,
        sigma: Hyper = 0.1,
        t_max: int = 1,
        num_layers: int = 1,
        bidirectional: bool = False,
        dropout: float = 0.0,
        width: int | None = None,
        block: Literal["none", "post", "pre"] = "none",
        norm: Literal["batch", "layer", "none", "rms", "running"] = "layer",
        nonlinearity: Literal["gelu", "none", "relu", "silu", "tanh"] = "gelu",
        glu: Literal["full", "half", "none"] = "full",
        conv: Literal[0, 2, 3, 4] = 0,
        only: Only | None = None,
    ) -> None: ...
    @property
    def epsilon(self) -> float: ...
    @property
    def gamma(self) -> float: ...
    @property
    def sigma(self) -> float: ...

class BMRU(SequenceModule):
    """Bistable memory recurrent unit, (B, T, p) to (B, T, d)."""

    def __init__(
        self,
        inputs: int,
        hidden: int,
        *,
        t_max: int = 1,
        num_layers: int = 1,
        bidirectional: bool = False,
        dropout: float = 0.0,
        width: int | None = None,
        block: Literal["none", "post", "pre"] = "none",
        norm: Literal["batch", "layer", "none", "rms", "running"] = "layer",
        nonlinearity: Literal["gelu", "none", "relu", "silu", "tanh"] = "gelu",
        glu: Literal["full", "half", "none"] = "full",
        conv: Literal[0, 2, 3, 4] = 0,
        only: Only | None = None,
    ) -> None: ...

class ChronoLSTM(SequenceModule):
    """LSTM with chrono initialisation, (B, T, p) to (B, T, d)."""

    def __init__(
        self,
        inputs: int,
        hidden: int,
        *,
        biases: Literal[1, 2] = 2,
        t_max: int = 1,
        num_layers: int = 1,
        bidirectional: bool = False,
        dropout: float = 0.0,
        width: int | None = None,
        block: Literal["none", "post", "pre"] = "none",
        norm: Literal["batch", "layer", "none", "rms", "running"] = "layer",
        nonlinearity: Literal["gelu", "none", "relu", "silu", "tanh"] = "gelu",
        glu: Literal["full", "half", "none"] = "full",
        conv: Literal[0, 2, 3, 4] = 0,
        only: Only | None = None,
    ) -> None: ...
    @property
    def biases(self) -> Literal[1, 2]: ...

class CitationGraphCON(GraphModule):
    """GraphCON as in the latest commit of the authors' code, for Cora, Citeseer and Pubmed."""

    def __init__(
        self,
        inputs: int,
        hidden: int,
        *,
        time: Hyper,
        coupling: Literal["gcn", "tran"] = "tran",
        heads: Literal[1, 8] = 8,
        width: Literal[8, 16, 32, 64, 128] = 128,
        over: Literal["contributing", "receiving"] = "contributing",
        t_max: int = 1,
    ) -> None: ...
    @property
    def time(self) -> float: ...
    @property
    def coupling(self) -> Literal["gcn", "tran"]: ...
    @property
    def heads(self) -> Literal[1, 8]: ...
    @property
    def width(self) -> Literal[8, 16, 32, 64, 128]: ...
    @property
    def over(self) -> Literal["contributing", "receiving"]: ...

class CoRNN(SequenceModule):
    """Coupled oscillatory RNN, (B, T, p) to (B, T, d)."""

    def __init__(
        self,
        inputs: int,
        hidden: int,
        *,
        dt: Hyper,
        gamma: Hyper,
        epsilon: Hyper,
        damping: Literal["explicit", "implicit"] = "explicit",
        trainable: bool = False,
        t_max: int = 1,
        num_layers: int = 1,
        bidirectional: bool = False,
        dropout: float = 0.0,
        width: int | None = None,
        block: Literal["none", "post", "pre"] = "none",
        norm: Literal["batch", "layer", "none", "rms", "running"] = "layer",
        nonlinearity: Literal["gelu", "none", "relu", "silu", "tanh"] = "gelu",
        glu: Literal["full", "half", "none"] = "full",
        conv: Literal[0, 2, 3, 4] = 0,
        only: Only | None = None,
    ) -> None: ...
    @property
    def dt(self) -> float: ...
    @property
    def gamma(self) -> float: ...
    @property
    def epsilon(self) -> float: ...
    @property
    def damping(self) -> Literal["explicit", "implicit"]: ...
    @property
    def trainable(self) -> bool: ...

class DLinOSS(SequenceModule):
    """Damped linear oscillatory state-space layer, (B, T, p) to (B, T, 2d)."""

    def __init__(
        self,
        inputs: int,
        hidden: int,
        *,
        t_max: int = 1,
        num_layers: int = 1,
        bidirectional: bool = False,
        dropout: float = 0.0,
        width: int | None = None,
        block: Literal["none", "post", "pre"] = "none",
        norm: Literal["batch", "layer", "none", "rms", "running"] = "layer",
        nonlinearity: Literal["gelu", "none", "relu", "silu", "tanh"] = "gelu",
        glu: Literal["full", "half", "none"] = "full",
        conv: Literal[0, 2, 3, 4] = 0,
        only: Only | None = None,
    ) -> None: ...

class DeltaNet(SequenceModule):
    """Linear attention by the delta rule, (B, T, p) to (B, T, d)."""

    def __init__(
        self,
        inputs: int,
        hidden: int,
        *,
        heads: Literal[1, 2, 4, 8] = 4,
        eigenvalues: Literal["-1-1", "0-1"] = "0-1",
        t_max: int = 1,
        num_layers: int = 1,
        bidirectional: bool = False,
        dropout: float = 0.0,
        width: int | None = None,
        block: Literal["none", "post", "pre"] = "none",
        norm: Literal["batch", "layer", "none", "rms", "running"] = "layer",
        nonlinearity: Literal["gelu", "none", "relu", "silu", "tanh"] = "gelu",
        glu: Literal["full", "half", "none"] = "full",
        conv: Literal[0, 2, 3, 4] = 0,
        only: Only | None = None,
    ) -> None: ...
    @property
    def heads(self) -> Literal[1, 2, 4, 8]: ...
    @property
    def eigenvalues(self) -> Literal["-1-1", "0-1"]: ...

class DeltaProduct(SequenceModule):
    """Linear attention by products of delta rules, (B, T, p) to (B, T, d)."""

    def __init__(
        self,
        inputs: int,
        hidden: int,
        *,
        products: Literal[1, 2, 3, 4] = 2,
        heads: Literal[1, 2, 4, 8] = 4,
        eigenvalues: Literal["-1-1", "0-1"] = "-1-1",
        t_max: int = 1,
        num_layers: int = 1,
        bidirectional: bool = False,
        dropout: float = 0.0,
        width: int | None = None,
        block: Literal["none", "post", "pre"] = "none",
        norm: Literal["batch", "layer", "none", "rms", "running"] = "layer",
        nonlinearity: Literal["gelu", "none", "relu", "silu", "tanh"] = "gelu",
        glu: Literal["full", "half", "none"] = "full",
        conv: Literal[0, 2, 3, 4] = 0,
        only: Only | None = None,
    ) -> None: ...
    @property
    def products(self) -> Literal[1, 2, 3, 4]: ...
    @property
    def heads(self) -> Literal[1, 2, 4, 8]: ...
    @property
    def eigenvalues(self) -> Literal["-1-1", "0-1"]: ...

class DtLSTM(SequenceModule):
    """LSTM with gates scaled by Δt, (B, T, p) to (B, T, d)."""

    def __init__(
        self,
        inputs: int,
        hidden: int,
        *,
        dt: Hyper,
        version: Literal["v1", "v2"] = "v1",
        biases: Literal[1, 2] = 2,
        t_max: int = 1,
        num_layers: int = 1,
        bidirectional: bool = False,
        dropout: float = 0.0,
        width: int | None = None,
        block: Literal["none", "post", "pre"] = "none",
        norm: Literal["batch", "layer", "none", "rms", "running"] = "layer",
        nonlinearity: Literal["gelu", "none", "relu", "silu", "tanh"] = "gelu",
        glu: Literal["full", "half", "none"] = "full",
        conv: Literal[0, 2, 3, 4] = 0,
        only: Only | None = None,
    ) -> None: ...
    @property
    def dt(self) -> float: ...
    @property
    def version(self) -> Literal["v1", "v2"]: ...
    @property
    def biases(self) -> Literal[1, 2]: ...

class ExpRNN(SequenceModule):
    """Recurrent network with orthogonal recurrence, (B, T, p) to (B, T, d)."""

    def __init__(
        self,
        inputs: int,
        hidden: int,
        *,
        t_max: int = 1,
        num_layers: int = 1,
        bidirectional: bool = False,
        dropout: float = 0.0,
        width: int | None = None,
        block: Literal["none", "post", "pre"] = "none",
        norm: Literal["batch", "layer", "none", "rms", "running"] = "layer",
        nonlinearity: Literal["gelu", "none", "relu", "silu", "tanh"] = "gelu",
        glu: Literal["full", "half", "none"] = "full",
        conv: Literal[0, 2, 3, 4] = 0,
        only: Only | None = None,
    ) -> None: ...

class FastGRNN(SequenceModule):
    """Gated recurrent network with shared matrices, (B, T, p) to (B, T, d)."""

    def __init__(
        self,
        inputs: int,
        hidden: int,
        *,
        t_max: int = 1,
        num_layers: int = 1,
        bidirectional: bool = False,
        dropout: float = 0.0,
        width: int | None = None,
        block: Literal["none", "post", "pre"] = "none",
        norm: Literal["batch", "layer", "none", "rms", "running"] = "layer",
        nonlinearity: Literal["gelu", "none", "relu", "silu", "tanh"] = "gelu",
        glu: Literal["full", "half", "none"] = "full",
        conv: Literal[0, 2, 3, 4] = 0,
        only: Only | None = None,
    ) -> None: ...

class FastRNN(SequenceModule):
    """Residual recurrent network, (B, T, p) to (B, T, d)."""

    def __init__(
        self,
        inputs: int,
        hidden: int,
        *,
        t_max: int = 1,
        num_layers: int = 1,
        bidirectional: bool = False,
        dropout: float = 0.0,
        width: int | None = None,
        block: Literal["none", "post", "pre"] = "none",
        norm: Literal["batch", "layer", "none", "rms", "running"] = "layer",
        nonlinearity: Literal["gelu", "none", "relu", "silu", "tanh"] = "gelu",
        glu: Literal["full", "half", "none"] = "full",
        conv: Literal[0, 2, 3, 4] = 0,
        only: Only | None = None,
    ) -> None: ...

class G2(GraphModule):
    """Gradient gating."""

    def __init__(
        self,
        inputs: int,
        hidden: int,
        *,
        p: Hyper = 2.0,
        alpha: Hyper | None = None,
        layers: Literal[1, 2, 3, 4, 5, 6, 8, 10, 13, 14, 16, 22, 32, 64, 100, 128, 1000] = 2,
        coupling: Literal["gat", "gcn", "sage"] = "gcn",
        second: bool = False,
        aggregate: Literal["mean", "sum"] = "mean",
        rate: Literal["multi", "single"] = "multi",
        shared: bool = True,
        t_max: int = 1,
    ) -> None: ...
    @property
    def p(self) -> float: ...
    @property
    def alpha(self) -> float | None: ...
    @property
    def layers(self) -> Literal[1, 2, 3, 4, 5, 6, 8, 10, 13, 14, 16, 22, 32, 64, 100, 128, 1000]: ...
    @property
    def coupling(self) -> Literal["gat", "gcn", "sage"]: ...
    @property
    def second(self) -> bool: ...
    @property
    def aggregate(self) -> Literal["mean", "sum"]: ...
    @property
    def rate(self) -> Literal["multi", "single"]: ...
    @property
    def shared(self) -> bool: ...

class GAT(GraphModule):
    """Graph attention network."""

    def __init__(
        self,
        inputs: int,
        hidden: int,
        *,
        dropout: Hyper | None = None,
        layers: Literal[1, 2, 3, 4, 5, 6, 8, 10, 13, 14, 16, 22, 32, 64, 100, 128, 1000] = 2,
        t_max: int = 1,
    ) -> None: ...
    @property
    def dropout(self) -> float | None: ...
    @property
    def layers(self) -> Literal[1, 2, 3, 4, 5, 6, 8, 10, 13, 14, 16, 22, 32, 64, 100, 128, 1000]: ...

class GCN(GraphModule):
    """Graph convolutional network."""

    def __init__(
        self,
        inputs: int,
        hidden: int,
        *,
        dropout: Hyper | None = None,
        layers: Literal[1, 2, 3, 4, 5, 6, 8, 10, 13, 14, 16, 22, 32, 64, 100, 128, 1000] = 2,
        t_max: int = 1,
    ) -> None: ...
    @property
    def dropout(self) -> float | None: ...
    @property
    def layers(self) -> Literal[1, 2, 3, 4, 5, 6, 8, 10, 13, 14, 16, 22, 32, 64, 100, 128, 1000]: ...

class GRU(SequenceModule):
    """Gated recurrent unit, (B, T, p) to (B, T, d)."""

    def __init__(
        self,
        inputs: int,
        hidden: int,
        *,
        biases: Literal[1, 2] = 2,
        t_max: int = 1,
        num_layers: int = 1,
        bidirectional: bool = False,
        dropout: float = 0.0,
        width: int | None = None,
        block: Literal["none", "post", "pre"] = "none",
        norm: Literal["batch", "layer", "none", "rms", "running"] = "layer",
        nonlinearity: Literal["gelu", "none", "relu", "silu", "tanh"] = "gelu",
        glu: Literal["full", "half", "none"] = "full",
        conv: Literal[0, 2, 3, 4] = 0,
        only: Only | None = None,
    ) -> None: ...
    @property
    def biases(self) -> Literal[1, 2]: ...

class GatedAntisymmetricRNN(SequenceModule):
    """Antisymmetric recurrent unit with gate, (B, T, p) to (B, T, d)."""

    def __init__(
        self,
        inputs: int,
        hidden: int,
        *,
        epsilon: Hyper,
        gamma: Hyper,
        sigma: Hyper = 0.1,
        t_max: int = 1,
        num_layers: int = 1,
        bidirectional: bool = False,
        dropout: float = 0.0,
        width: int | None = None,
        block: Literal["none", "post", "pre"] = "none",
        norm: Literal["batch", "layer", "none", "rms", "running"] = "layer",
        nonlinearity: Literal["gelu", "none", "relu", "silu", "tanh"] = "gelu",
        glu: Literal["full", "half", "none"] = "full",
        conv: Literal[0, 2, 3, 4] = 0,
        only: Only | None = None,
    ) -> None: ...
    @property
    def epsilon(self) -> float: ...
    @property
    def gamma(self) -> float: ...
    @property
    def sigma(self) -> float: ...

class GatedDeltaNet(SequenceModule):
    """Delta rule with decay and an output gate, (B, T, p) to (B, T, d)."""

    def __init__(
        self,
        inputs: int,
        hidden: int,
        *,
        heads: Literal[1, 2, 4, 8] = 4,
        eigenvalues: Literal["-1-1", "0-1"] = "0-1",
        t_max: int = 1,
        num_layers: int = 1,
        bidirectional: bool = False,
        dropout: float = 0.0,
        width: int | None = None,
        block: Literal["none", "post", "pre"] = "none",
        norm: Literal["batch", "layer", "none", "rms", "running"] = "layer",
        nonlinearity: Literal["gelu", "none", "relu", "silu", "tanh"] = "gelu",
        glu: Literal["full", "half", "none"] = "full",
        conv: Literal[0, 2, 3, 4] = 0,
        only: Only | None = None,
    ) -> None: ...
    @property
    def heads(self) -> Literal[1, 2, 4, 8]: ...
    @property
    def eigenvalues(self) -> Literal["-1-1", "0-1"]: ...

class GatedDeltaProduct(SequenceModule):
    """DeltaProduct with decay, (B, T, p) to (B, T, d)."""

    def __init__(
        self,
        inputs: int,
        hidden: int,
        *,
        products: Literal[1, 2, 3, 4] = 2,
        heads: Literal[1, 2, 4, 8] = 4,
        eigenvalues: Literal["-1-1", "0-1"] = "-1-1",
        t_max: int = 1,
        num_layers: int = 1,
        bidirectional: bool = False,
        dropout: float = 0.0,
        width: int | None = None,
        block: Literal["none", "post", "pre"] = "none",
        norm: Literal["batch", "layer", "none", "rms", "running"] = "layer",
        nonlinearity: Literal["gelu", "none", "relu", "silu", "tanh"] = "gelu",
        glu: Literal["full", "half", "none"] = "full",
        conv: Literal[0, 2, 3, 4] = 0,
        only: Only | None = None,
    ) -> None: ...
    @property
    def products(self) -> Literal[1, 2, 3, 4]: ...
    @property
    def heads(self) -> Literal[1, 2, 4, 8]: ...
    @property
    def eigenvalues(self) -> Literal["-1-1", "0-1"]: ...

class GraphCON(GraphModule):
    """Graph-coupled oscillator network."""

    def __init__(
        self,
        inputs: int,
        hidden: int,
        *,
        dt: Hyper = 1.0,
        gamma: Hyper = 1.0,
        alpha: Hyper = 1.0,
        dropout: Hyper | None = None,
        layers: Literal[1, 2, 3, 4, 5, 6, 8, 10, 13, 14, 16, 22, 32, 64, 100, 128, 1000] = 2,
        coupling: Literal["gat", "gcn", "tran"] = "gcn",
        shared: bool = False,
        residual: Literal["difference", "map", "none", "plus"] = "none",
        webkb: bool = False,
        t_max: int = 1,
    ) -> None: ...
    @property
    def dt(self) -> float: ...
    @property
    def gamma(self) -> float: ...
    @property
    def alpha(self) -> float: ...
    @property
    def dropout(self) -> float | None: ...
    @property
    def layers(self) -> Literal[1, 2, 3, 4, 5, 6, 8, 10, 13, 14, 16, 22, 32, 64, 100, 128, 1000]: ...
    @property
    def coupling(self) -> Literal["gat", "gcn", "tran"]: ...
    @property
    def shared(self) -> bool: ...
    @property
    def residual(self) -> Literal["difference", "map", "none", "plus"]: ...
    @property
    def webkb(self) -> bool: ...

class GraphSAGE(GraphModule):
    """GraphSAGE with the mean over neighbours."""

    def __init__(
        self,
        inputs: int,
        hidden: int,
        *,
        dropout: Hyper | None = None,
        layers: Literal[1, 2, 3, 4, 5, 6, 8, 10, 13, 14, 16, 22, 32, 64, 100, 128, 1000] = 2,
        t_max: int = 1,
    ) -> None: ...
    @property
    def dropout(self) -> float | None: ...
    @property
    def layers(self) -> Literal[1, 2, 3, 4, 5, 6, 8, 10, 13, 14, 16, 22, 32, 64, 100, 128, 1000]: ...

class HORN(SequenceModule):
    """Harmonic oscillator recurrent network, (B, T, p) to (B, T, d)."""

    def __init__(
        self,
        inputs: int,
        hidden: int,
        *,
        alpha: Hyper = 0.04,
        omega: Hyper = 0.224,
        gamma: Hyper = 0.01,
        dt: Hyper = 1.0,
        heterogeneous: bool = False,
        t_max: int = 1,
        num_layers: int = 1,
        bidirectional: bool = False,
        dropout: float = 0.0,
        width: int | None = None,
        block: Literal["none", "post", "pre"] = "none",
        norm: Literal["batch", "layer", "none", "rms", "running"] = "layer",
        nonlinearity: Literal["gelu", "none", "relu", "silu", "tanh"] = "gelu",
        glu: Literal["full", "half", "none"] = "full",
        conv: Literal[0, 2, 3, 4] = 0,
        only: Only | None = None,
    ) -> None: ...
    @property
    def alpha(self) -> float: ...
    @property
    def omega(self) -> float: ...
    @property
    def gamma(self) -> float: ...
    @property
    def dt(self) -> float: ...
    @property
    def heterogeneous(self) -> bool: ...

class IncrementalRNN(SequenceModule):
    """Incremental recurrent network, (B, T, p) to (B, T, d)."""

    def __init__(
        self,
        inputs: int,
        hidden: int,
        *,
        alpha: Hyper,
        euler_steps: Literal[1, 2, 5, 10] = 5,
        t_max: int = 1,
        num_layers: int = 1,
        bidirectional: bool = False,
        dropout: float = 0.0,
        width: int | None = None,
        block: Literal["none", "post", "pre"] = "none",
        norm: Literal["batch", "layer", "none", "rms", "running"] = "layer",
        nonlinearity: Literal["gelu", "none", "relu", "silu", "tanh"] = "gelu",
        glu: Literal["full", "half", "none"] = "full",
        conv: Literal[0, 2, 3, 4] = 0,
        only: Only | None = None,
    ) -> None: ...
    @property
    def alpha(self) -> float: ...
    @property
    def euler_steps(self) -> Literal[1, 2, 5, 10]: ...

class IndRNN(SequenceModule):
    """Independently recurrent network, (B, T, p) to (B, T, d)."""

    def __init__(
        self,
        inputs: int,
        hidden: int,
        *,
        dropout: Hyper | None = None,
        layers: Literal[1, 2, 3, 4, 5, 6] = 2,
        t_max: int = 1,
        num_layers: int = 1,
        bidirectional: bool = False,
        only: Only | None = None,
    ) -> None: ...
    @property
    def dropout(self) -> float | None: ...
    @property
    def layers(self) -> Literal[1, 2, 3, 4, 5, 6]: ...

class LEM(SequenceModule):
    """Long expressive memory, (B, T, p) to (B, T, d)."""

    def __init__(
        self,
        inputs: int,
        hidden: int,
        *,
        dt: Hyper = 1.0,
        floor: Hyper | None = None,
        start: Literal["chrono", "uniform"] = "uniform",
        multiscale: bool = True,
        biases: Literal[4, 8] = 8,
        t_max: int = 1,
        num_layers: int = 1,
        bidirectional: bool = False,
        dropout: float = 0.0,
        width: int | None = None,
        block: Literal["none", "post", "pre"] = "none",
        norm: Literal["batch", "layer", "none", "rms", "running"] = "layer",
        nonlinearity: Literal["gelu", "none", "relu", "silu", "tanh"] = "gelu",
        glu: Literal["full", "half", "none"] = "full",
        conv: Literal[0, 2, 3, 4] = 0,
        only: Only | None = None,
    ) -> None: ...
    @property
    def dt(self) -> float: ...
    @property
    def floor(self) -> float | None: ...
    @property
    def start(self) -> Literal["chrono", "uniform"]: ...
    @property
    def multiscale(self) -> bool: ...
    @property
    def biases(self) -> Literal[4, 8]: ...

class LRU(SequenceModule):
    """Linear recurrent unit, (B, T, p) to (B, T, 2d)."""

    def __init__(
        self,
        inputs: int,
        hidden: int,
        *,
        ring: Literal["0-0.99", "0-1", "0.5-0.9", "0.9-0.999", "0.999-0.9999"] = "0.9-0.999",
        phase: Literal["2pi", "pi/10"] = "2pi",
        t_max: int = 1,
        num_layers: int = 1,
        bidirectional: bool = False,
        dropout: float = 0.0,
        width: int | None = None,
        block: Literal["none", "post", "pre"] = "none",
        norm: Literal["batch", "layer", "none", "rms", "running"] = "layer",
        nonlinearity: Literal["gelu", "none", "relu", "silu", "tanh"] = "gelu",
        glu: Literal["full", "half", "none"] = "full",
        conv: Literal[0, 2, 3, 4] = 0,
        only: Only | None = None,
    ) -> None: ...
    @property
    def ring(self) -> Literal["0-0.99", "0-1", "0.5-0.9", "0.9-0.999", "0.999-0.9999"]: ...
    @property
    def phase(self) -> Literal["2pi", "pi/10"]: ...

class LSTM(SequenceModule):
    """Long short-term memory, (B, T, p) to (B, T, d)."""

    def __init__(
        self,
        inputs: int,
        hidden: int,
        *,
        biases: Literal[1, 2] = 2,
        t_max: int = 1,
        num_layers: int = 1,
        bidirectional: bool = False,
        dropout: float = 0.0,
        width: int | None = None,
        block: Literal["none", "post", "pre"] = "none",
        norm: Literal["batch", "layer", "none", "rms", "running"] = "layer",
        nonlinearity: Literal["gelu", "none", "relu", "silu", "tanh"] = "gelu",
        glu: Literal["full", "half", "none"] = "full",
        conv: Literal[0, 2, 3, 4] = 0,
        only: Only | None = None,
    ) -> None: ...
    @property
    def biases(self) -> Literal[1, 2]: ...

class LinOSS(SequenceModule):
    """Linear oscillatory state-space layer, (B, T, p) to (B, T, 2d)."""

    def __init__(
        self,
        inputs: int,
        hidden: int,
        *,
        scheme: Literal["im", "imex"] = "im",
        t_max: int = 1,
        num_layers: int = 1,
        bidirectional: bool = False,
        dropout: float = 0.0,
        width: int | None = None,
        block: Literal["none", "post", "pre"] = "none",
        norm: Literal["batch", "layer", "none", "rms", "running"] = "layer",
        nonlinearity: Literal["gelu", "none", "relu", "silu", "tanh"] = "gelu",
        glu: Literal["full", "half", "none"] = "full",
        conv: Literal[0, 2, 3, 4] = 0,
        only: Only | None = None,
    ) -> None: ...
    @property
    def scheme(self) -> Literal["im", "imex"]: ...

class LipschitzRNN(SequenceModule):
    """Lipschitz recurrent unit, (B, T, p) to (B, T, d)."""

    def __init__(
        self,
        inputs: int,
        hidden: int,
        *,
        epsilon: Hyper,
        beta: Hyper,
        gamma: Hyper,
        beta_w: Hyper | None = None,
        gamma_w: Hyper | None = None,
        alpha: Hyper = 1.0,
        sigma: Hyper = 0.1,
        scheme: Literal["euler", "rk2"] = "euler",
        t_max: int = 1,
        num_layers: int = 1,
        bidirectional: bool = False,
        dropout: float = 0.0,
        width: int | None = None,
        block: Literal["none", "post", "pre"] = "none",
        norm: Literal["batch", "layer", "none", "rms", "running"] = "layer",
        nonlinearity: Literal["gelu", "none", "relu", "silu", "tanh"] = "gelu",
        glu: Literal["full", "half", "none"] = "full",
        conv: Literal[0, 2, 3, 4] = 0,
        only: Only | None = None,
    ) -> None: ...
    @property
    def epsilon(self) -> float: ...
    @property
    def beta(self) -> float: ...
    @property
    def gamma(self) -> float: ...
    @property
    def beta_w(self) -> float | None: ...
    @property
    def gamma_w(self) -> float | None: ...
    @property
    def alpha(self) -> float: ...
    @property
    def sigma(self) -> float: ...
    @property
    def scheme(self) -> Literal["euler", "rk2"]: ...

class LrcSSM(SequenceModule):
    """Liquid-resistance liquid-capacitance network with a diagonal Jacobian, (B, T, p) to (B, T, d)."""

    def __init__(
        self,
        inputs: int,
        hidden: int,
        *,
        dt: Hyper = 1.0,
        elastance: Literal["asymmetric", "symmetric"] = "asymmetric",
        t_max: int = 1,
        num_layers: int = 1,
        bidirectional: bool = False,
        dropout: float = 0.0,
        width: int | None = None,
        block: Literal["none", "post", "pre"] = "none",
        norm: Literal["batch", "layer", "none", "rms", "running"] = "layer",
        nonlinearity: Literal["gelu", "none", "relu", "silu", "tanh"] = "gelu",
        glu: Literal["full", "half", "none"] = "full",
        conv: Literal[0, 2, 3, 4] = 0,
        only: Only | None = None,
    ) -> None: ...
    @property
    def dt(self) -> float: ...
    @property
    def elastance(self) -> Literal["asymmetric", "symmetric"]: ...

class MLP(GraphModule):
    """Perceptron at each node, without edges."""

    def __init__(
        self,
        inputs: int,
        hidden: int,
        *,
        dropout: Hyper | None = None,
        layers: Literal[1, 2, 3, 4, 5, 6, 8, 10, 13, 14, 16, 22, 32, 64, 100, 128, 1000] = 2,
        t_max: int = 1,
    ) -> None: ...
    @property
    def dropout(self) -> float | None: ...
    @property
    def layers(self) -> Literal[1, 2, 3, 4, 5, 6, 8, 10, 13, 14, 16, 22, 32, 64, 100, 128, 1000]: ...

class MLSTM(SequenceModule):
    """LSTM with matrix memories and exponential gates, (B, T, p) to (B, T, d)."""

    def __init__(
        self,
        inputs: int,
        hidden: int,
        *,
        heads: Literal[1, 2, 4, 8] = 4,
        t_max: int = 1,
        num_layers: int = 1,
        bidirectional: bool = False,
        dropout: float = 0.0,
        width: int | None = None,
        block: Literal["none", "post", "pre"] = "none",
        norm: Literal["batch", "layer", "none", "rms", "running"] = "layer",
        nonlinearity: Literal["gelu", "none", "relu", "silu", "tanh"] = "gelu",
        glu: Literal["full", "half", "none"] = "full",
        conv: Literal[0, 2, 3, 4] = 0,
        only: Only | None = None,
    ) -> None: ...
    @property
    def heads(self) -> Literal[1, 2, 4, 8]: ...

class Mamba(SequenceModule):
    """Selective state-space layer with its gate, (B, T, p) to (B, T, d)."""

    def __init__(
        self,
        inputs: int,
        hidden: int,
        *,
        states: Literal[4, 8, 16, 32, 64, 128, 256] = 16,
        eigenvalues: Literal["-1-1", "0-1"] = "0-1",
        t_max: int = 1,
        num_layers: int = 1,
        bidirectional: bool = False,
        dropout: float = 0.0,
        width: int | None = None,
        block: Literal["none", "post", "pre"] = "none",
        norm: Literal["batch", "layer", "none", "rms", "running"] = "layer",
        nonlinearity: Literal["gelu", "none", "relu", "silu", "tanh"] = "gelu",
        glu: Literal["full", "half", "none"] = "full",
        conv: Literal[0, 2, 3, 4] = 0,
        only: Only | None = None,
    ) -> None: ...
    @property
    def states(self) -> Literal[4, 8, 16, 32, 64, 128, 256]: ...
    @property
    def eigenvalues(self) -> Literal["-1-1", "0-1"]: ...

class Mamba2(SequenceModule):
    """State-space duality layer with its gate, (B, T, p) to (B, T, d)."""

    def __init__(
        self,
        inputs: int,
        hidden: int,
        *,
        states: Literal[16, 32, 64, 128] = 64,
        heads: Literal[1, 2, 4, 8] = 4,
        t_max: int = 1,
        num_layers: int = 1,
        bidirectional: bool = False,
        dropout: float = 0.0,
        width: int | None = None,
        block: Literal["none", "post", "pre"] = "none",
        norm: Literal["batch", "layer", "none", "rms", "running"] = "layer",
        nonlinearity: Literal["gelu", "none", "relu", "silu", "tanh"] = "gelu",
        glu: Literal["full", "half", "none"] = "full",
        conv: Literal[0, 2, 3, 4] = 0,
        only: Only | None = None,
    ) -> None: ...
    @property
    def states(self) -> Literal[16, 32, 64, 128]: ...
    @property
    def heads(self) -> Literal[1, 2, 4, 8]: ...

class MinGRU(SequenceModule):
    """Minimal gated recurrent unit, (B, T, p) to (B, T, d)."""

    def __init__(
        self,
        inputs: int,
        hidden: int,
        *,
        candidate: Literal["linear", "positive"] = "linear",
        t_max: int = 1,
        num_layers: int = 1,
        bidirectional: bool = False,
        dropout: float = 0.0,
        width: int | None = None,
        block: Literal["none", "post", "pre"] = "none",
        norm: Literal["batch", "layer", "none", "rms", "running"] = "layer",
        nonlinearity: Literal["gelu", "none", "relu", "silu", "tanh"] = "gelu",
        glu: Literal["full", "half", "none"] = "full",
        conv: Literal[0, 2, 3, 4] = 0,
        only: Only | None = None,
    ) -> None: ...
    @property
    def candidate(self) -> Literal["linear", "positive"]: ...

class MinLSTM(SequenceModule):
    """Minimal LSTM, (B, T, p) to (B, T, d)."""

    def __init__(
        self,
        inputs: int,
        hidden: int,
        *,
        candidate: Literal["linear", "positive"] = "linear",
        t_max: int = 1,
        num_layers: int = 1,
        bidirectional: bool = False,
        dropout: float = 0.0,
        width: int | None = None,
        block: Literal["none", "post", "pre"] = "none",
        norm: Literal["batch", "layer", "none", "rms", "running"] = "layer",
        nonlinearity: Literal["gelu", "none", "relu", "silu", "tanh"] = "gelu",
        glu: Literal["full", "half", "none"] = "full",
        conv: Literal[0, 2, 3, 4] = 0,
        only: Only | None = None,
    ) -> None: ...
    @property
    def candidate(self) -> Literal["linear", "positive"]: ...

class MultilayerOscillator(SequenceModule):
    """Multi-layer neural oscillator, (B, T, p) to (B, T, d)."""

    def __init__(
        self,
        inputs: int,
        hidden: int,
        *,
        dt: Hyper,
        dropout: Hyper | None = None,
        layers: Literal[1, 2, 3, 4, 5, 6] = 3,
        scheme: Literal["imex", "symplectic"] = "imex",
        activation: Literal["sin", "tanh"] = "tanh",
        t_max: int = 1,
        num_layers: int = 1,
        bidirectional: bool = False,
        only: Only | None = None,
    ) -> None: ...
    @property
    def dt(self) -> float: ...
    @property
    def dropout(self) -> float | None: ...
    @property
    def layers(self) -> Literal[1, 2, 3, 4, 5, 6]: ...
    @property
    def scheme(self) -> Literal["imex", "symplectic"]: ...
    @property
    def activation(self) -> Literal["sin", "tanh"]: ...

class NeuralODERNN(SequenceModule):
    """Residual recurrent unit, (B, T, p) to (B, T, d)."""

    def __init__(
        self,
        inputs: int,
        hidden: int,
        *,
        epsilon: Hyper,
        sigma: Hyper = 0.1,
        t_max: int = 1,
        num_layers: int = 1,
        bidirectional: bool = False,
        dropout: float = 0.0,
        width: int | None = None,
        block: Literal["none", "post", "pre"] = "none",
        norm: Literal["batch", "layer", "none", "rms", "running"] = "layer",
        nonlinearity: Literal["gelu", "none", "relu", "silu", "tanh"] = "gelu",
        glu: Literal["full", "half", "none"] = "full",
        conv: Literal[0, 2, 3, 4] = 0,
        only: Only | None = None,
    ) -> None: ...
    @property
    def epsilon(self) -> float: ...
    @property
    def sigma(self) -> float: ...

class NeuralOscillator(SequenceModule):
    """General neural oscillator, (B, T, p) to (B, T, d)."""

    def __init__(
        self,
        inputs: int,
        hidden: int,
        *,
        dt: Hyper,
        scheme: Literal["imex", "symplectic"] = "imex",
        activation: Literal["sin", "tanh"] = "tanh",
        t_max: int = 1,
        num_layers: int = 1,
        bidirectional: bool = False,
        dropout: float = 0.0,
        width: int | None = None,
        block: Literal["none", "post", "pre"] = "none",
        norm: Literal["batch", "layer", "none", "rms", "running"] = "layer",
        nonlinearity: Literal["gelu", "none", "relu", "silu", "tanh"] = "gelu",
        glu: Literal["full", "half", "none"] = "full",
        conv: Literal[0, 2, 3, 4] = 0,
        only: Only | None = None,
    ) -> None: ...
    @property
    def dt(self) -> float: ...
    @property
    def scheme(self) -> Literal["imex", "symplectic"]: ...
    @property
    def activation(self) -> Literal["sin", "tanh"]: ...

class ParaGRU(SequenceModule):
    """GRU with diagonal recurrent weights, (B, T, p) to (B, T, d)."""

    def __init__(
        self,
        inputs: int,
        hidden: int,
        *,
        t_max: int = 1,
        num_layers: int = 1,
        bidirectional: bool = False,
        dropout: float = 0.0,
        width: int | None = None,
        block: Literal["none", "post", "pre"] = "none",
        norm: Literal["batch", "layer", "none", "rms", "running"] = "layer",
        nonlinearity: Literal["gelu", "none", "relu", "silu", "tanh"] = "gelu",
        glu: Literal["full", "half", "none"] = "full",
        conv: Literal[0, 2, 3, 4] = 0,
        only: Only | None = None,
    ) -> None: ...

class ParaLSTM(SequenceModule):
    """LSTM with diagonal recurrent weights and coupled input and forget gates, (B, T, p) to (B, T, d)."""

    def __init__(
        self,
        inputs: int,
        hidden: int,
        *,
        t_max: int = 1,
        num_layers: int = 1,
        bidirectional: bool = False,
        dropout: float = 0.0,
        width: int | None = None,
        block: Literal["none", "post", "pre"] = "none",
        norm: Literal["batch", "layer", "none", "rms", "running"] = "layer",
        nonlinearity: Literal["gelu", "none", "relu", "silu", "tanh"] = "gelu",
        glu: Literal["full", "half", "none"] = "full",
        conv: Literal[0, 2, 3, 4] = 0,
        only: Only | None = None,
    ) -> None: ...

class RGLRU(SequenceModule):
    """Real-gated linear recurrent unit, (B, T, p) to (B, T, d)."""

    def __init__(
        self,
        inputs: int,
        hidden: int,
        *,
        t_max: int = 1,
        num_layers: int = 1,
        bidirectional: bool = False,
        dropout: float = 0.0,
        width: int | None = None,
        block: Literal["none", "post", "pre"] = "none",
        norm: Literal["batch", "layer", "none", "rms", "running"] = "layer",
        nonlinearity: Literal["gelu", "none", "relu", "silu", "tanh"] = "gelu",
        glu: Literal["full", "half", "none"] = "full",
        conv: Literal[0, 2, 3, 4] = 0,
        only: Only | None = None,
    ) -> None: ...

class RWKV7(SequenceModule):
    """Time mixing of RWKV-7, (B, T, p) to (B, T, d)."""

    def __init__(
        self,
        inputs: int,
        hidden: int,
        *,
        heads: Literal[1, 2, 4, 8] = 4,
        t_max: int = 1,
        num_layers: int = 1,
        bidirectional: bool = False,
        dropout: float = 0.0,
        width: int | None = None,
        block: Literal["none", "post", "pre"] = "none",
        norm: Literal["batch", "layer", "none", "rms", "running"] = "layer",
        nonlinearity: Literal["gelu", "none", "relu", "silu", "tanh"] = "gelu",
        glu: Literal["full", "half", "none"] = "full",
        conv: Literal[0, 2, 3, 4] = 0,
        only: Only | None = None,
    ) -> None: ...
    @property
    def heads(self) -> Literal[1, 2, 4, 8]: ...

class ResidualUnICORNN(SequenceModule):
    """UnICORNN with skip connections, (B, T, p) to (B, T, d)."""

    def __init__(
        self,
        inputs: int,
        hidden: int,
        *,
        dt: Hyper,
        alpha: Hyper,
        dropout: Hyper | None = None,
        dt_1: Hyper | None = None,
        dt_2: Hyper | None = None,
        dt_3: Hyper | None = None,
        dt_4: Hyper | None = None,
        dt_5: Hyper | None = None,
        dt_6: Hyper | None = None,
        layers: Literal[3, 4, 5, 6] = 6,
        skip: Literal[2, 3] = 2,
        multiscale: bool = True,
        t_max: int = 1,
        num_layers: int = 1,
        bidirectional: bool = False,
        only: Only | None = None,
    ) -> None: ...
    @property
    def dt(self) -> float: ...
    @property
    def alpha(self) -> float: ...
    @property
    def dropout(self) -> float | None: ...
    @property
    def dt_1(self) -> float | None: ...
    @property
    def dt_2(self) -> float | None: ...
    @property
    def dt_3(self) -> float | None: ...
    @property
    def dt_4(self) -> float | None: ...
    @property
    def dt_5(self) -> float | None: ...
    @property
    def dt_6(self) -> float | None: ...
    @property
    def layers(self) -> Literal[3, 4, 5, 6]: ...
    @property
    def skip(self) -> Literal[2, 3]: ...
    @property
    def multiscale(self) -> bool: ...

class S4D(SequenceModule):
    """Diagonal state-space layer, (B, T, p) to (B, T, d)."""

    def __init__(
        self,
        inputs: int,
        hidden: int,
        *,
        states: Literal[4, 16, 32, 64, 128] = 64,
        t_max: int = 1,
        num_layers: int = 1,
        bidirectional: bool = False,
        dropout: float = 0.0,
        width: int | None = None,
        block: Literal["none", "post", "pre"] = "none",
        norm: Literal["batch", "layer", "none", "rms", "running"] = "layer",
        nonlinearity: Literal["gelu", "none", "relu", "silu", "tanh"] = "gelu",
        glu: Literal["full", "half", "none"] = "full",
        conv: Literal[0, 2, 3, 4] = 0,
        only: Only | None = None,
    ) -> None: ...
    @property
    def states(self) -> Literal[4, 16, 32, 64, 128]: ...

class S5(SequenceModule):
    """Simplified structured state-space layer, (B, T, p) to (B, T, 2d)."""

    def __init__(
        self,
        inputs: int,
        hidden: int,
        *,
        blocks: Literal[1, 2, 4, 8, 16] = 1,
        t_max: int = 1,
        num_layers: int = 1,
        bidirectional: bool = False,
        dropout: float = 0.0,
        width: int | None = None,
        block: Literal["none", "post", "pre"] = "none",
        norm: Literal["batch", "layer", "none", "rms", "running"] = "layer",
        nonlinearity: Literal["gelu", "none", "relu", "silu", "tanh"] = "gelu",
        glu: Literal["full", "half", "none"] = "full",
        conv: Literal[0, 2, 3, 4] = 0,
        only: Only | None = None,
    ) -> None: ...
    @property
    def blocks(self) -> Literal[1, 2, 4, 8, 16]: ...

class SLSTM(SequenceModule):
    """Scalar LSTM with exponential gates, (B, T, p) to (B, T, d)."""

    def __init__(
        self,
        inputs: int,
        hidden: int,
        *,
        heads: Literal[1, 2, 4] = 1,
        t_max: int = 1,
        num_layers: int = 1,
        bidirectional: bool = False,
        dropout: float = 0.0,
        width: int | None = None,
        block: Literal["none", "post", "pre"] = "none",
        norm: Literal["batch", "layer", "none", "rms", "running"] = "layer",
        nonlinearity: Literal["gelu", "none", "relu", "silu", "tanh"] = "gelu",
        glu: Literal["full", "half", "none"] = "full",
        conv: Literal[0, 2, 3, 4] = 0,
        only: Only | None = None,
    ) -> None: ...
    @property
    def heads(self) -> Literal[1, 2, 4]: ...

class SimpleDelayGRU(SequenceModule):
    """Gated recurrent unit with an unweighted delay, (B, T, p) to (B, T, d)."""

    def __init__(
        self,
        inputs: int,
        hidden: int,
        *,
        tau: Hyper,
        t_max: int = 1,
        num_layers: int = 1,
        bidirectional: bool = False,
        dropout: float = 0.0,
        width: int | None = None,
        block: Literal["none", "post", "pre"] = "none",
        norm: Literal["batch", "layer", "none", "rms", "running"] = "layer",
        nonlinearity: Literal["gelu", "none", "relu", "silu", "tanh"] = "gelu",
        glu: Literal["full", "half", "none"] = "full",
        conv: Literal[0, 2, 3, 4] = 0,
        only: Only | None = None,
    ) -> None: ...
    @property
    def tau(self) -> float: ...

class TanhRNN(SequenceModule):
    """Elman's recurrent network, (B, T, p) to (B, T, d)."""

    def __init__(
        self,
        inputs: int,
        hidden: int,
        *,
        biases: Literal[1, 2] = 2,
        t_max: int = 1,
        num_layers: int = 1,
        bidirectional: bool = False,
        dropout: float = 0.0,
        width: int | None = None,
        block: Literal["none", "post", "pre"] = "none",
        norm: Literal["batch", "layer", "none", "rms", "running"] = "layer",
        nonlinearity: Literal["gelu", "none", "relu", "silu", "tanh"] = "gelu",
        glu: Literal["full", "half", "none"] = "full",
        conv: Literal[0, 2, 3, 4] = 0,
        only: Only | None = None,
    ) -> None: ...
    @property
    def biases(self) -> Literal[1, 2]: ...

class TauGRU(SequenceModule):
    """Gated recurrent unit with delayed feedback, (B, T, p) to (B, T, d)."""

    def __init__(
        self,
        inputs: int,
        hidden: int,
        *,
        tau: Hyper | None = None,
        alpha: Hyper = 1.0,
        beta: Hyper = 1.0,
        form: Literal["alpha=0", "beta=0", "delayed weighting", "full", "no gating", "no weighting"] = "full",
        t_max: int = 1,
        num_layers: int = 1,
        bidirectional: bool = False,
        dropout: float = 0.0,
        width: int | None = None,
        block: Literal["none", "post", "pre"] = "none",
        norm: Literal["batch", "layer", "none", "rms", "running"] = "layer",
        nonlinearity: Literal["gelu", "none", "relu", "silu", "tanh"] = "gelu",
        glu: Literal["full", "half", "none"] = "full",
        conv: Literal[0, 2, 3, 4] = 0,
        only: Only | None = None,
    ) -> None: ...
    @property
    def tau(self) -> float | None: ...
    @property
    def alpha(self) -> float: ...
    @property
    def beta(self) -> float: ...
    @property
    def form(self) -> Literal["alpha=0", "beta=0", "delayed weighting", "full", "no gating", "no weighting"]: ...

class Transformer(SequenceModule):
    """Transformer with rotary positions and gated maps, (B, T, p) to (B, T, d)."""

    def __init__(
        self,
        inputs: int,
        hidden: int,
        *,
        layers: Literal[1, 2, 3, 4, 6] = 2,
        heads: Literal[1, 2, 4, 8] = 4,
        t_max: int = 1,
        num_layers: int = 1,
        bidirectional: bool = False,
        dropout: float = 0.0,
        only: Only | None = None,
    ) -> None: ...
    @property
    def layers(self) -> Literal[1, 2, 3, 4, 6]: ...
    @property
    def heads(self) -> Literal[1, 2, 4, 8]: ...

class UnICORNN(SequenceModule):
    """Undamped independent controlled oscillatory RNN, (B, T, p) to (B, T, d)."""

    def __init__(
        self,
        inputs: int,
        hidden: int,
        *,
        dt: Hyper,
        alpha: Hyper,
        dropout: Hyper | None = None,
        dt_1: Hyper | None = None,
        dt_2: Hyper | None = None,
        dt_3: Hyper | None = None,
        dt_4: Hyper | None = None,
        dt_5: Hyper | None = None,
        dt_6: Hyper | None = None,
        layers: Literal[1, 2, 3, 4, 5, 6] = 3,
        multiscale: bool = True,
        t_max: int = 1,
        num_layers: int = 1,
        bidirectional: bool = False,
        only: Only | None = None,
    ) -> None: ...
    @property
    def dt(self) -> float: ...
    @property
    def alpha(self) -> float: ...
    @property
    def dropout(self) -> float | None: ...
    @property
    def dt_1(self) -> float | None: ...
    @property
    def dt_2(self) -> float | None: ...
    @property
    def dt_3(self) -> float | None: ...
    @property
    def dt_4(self) -> float | None: ...
    @property
    def dt_5(self) -> float | None: ...
    @property
    def dt_6(self) -> float | None: ...
    @property
    def layers(self) -> Literal[1, 2, 3, 4, 5, 6]: ...
    @property
    def multiscale(self) -> bool: ...

"""The fused loops in C++, compiled at first use."""

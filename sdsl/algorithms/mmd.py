"""Unbiased multi-kernel MMD^2 of two sets (Gretton et al. 2012; Long et al. 2015) and its slope.

mean_{i!=j} k(x_i, x_j) + mean_{i!=j} k(y_i, y_j) - 2 mean_{ij} k(x_i, y_j), where k(u, v) is
sum_{q=-2..2} exp(-|u - v|^2 / (2^q b)); b, held constant, is all pairs' mean squared distance.

With e = exp(-d / 4b) the five kernels are e, e^2, e^4, e^8, e^16, and dk/dd is
-(e + 2 e^2 + ... + 16 e^16) / 4b. The N points stand in a circle, and a pair is (i, i + r), so each
comes once for r = 1..N/2. Coordinates lie in rows: all loops run along i, in vector registers.
"""

import numpy as np

from sdsl.core.compiled import compiled
from sdsl.core.kernel import Array


@compiled
def mmd(x: Array, y: Array, weight: float, dx: Array, dy: Array) -> float:
    """MMD^2 of x [n, C] and y [m, C]; weight times its slope is added to dx and dy.

    0 where a side has fewer than two points: there is nothing to compare.
    """
    n, m, C = len(x), len(y), x.shape[1]
    if n < 2 or m < 2:
        return 0.0
    N = n + m
    z, b = circle(x, y)
    d = np.zeros((N // 2, N), np.float32)  # of i and i + r, in row r - 1
    for r in range(1, N // 2 + 1):
        for c in range(C):
            here, there, to = z[c, :N], z[c, r : r + N], d[r - 1]
            for i in range(N):
                gap = there[i] - here[i]
                to[i] += gap * gap
    kernel = np.empty_like(d)
    kernels(d, np.float32(-0.25) / b, kernel)  # d takes the slope
    # The weight of a pair, by side: every pair stands for (i, j) and (j, i).
    within = np.empty(2 * N, np.float32)
    for i in range(2 * N):
        within[i] = 2 / (n * (n - 1)) if i % N < n else -2 / (m * (m - 1))
    across = np.float32(-2 / (n * m))
    total = np.zeros(N, np.float32)
    ahead, behind = np.zeros((C, N), np.float32), np.zeros((C, 2 * N), np.float32)
    for r in range(1, N // 2 + 1):
        pairs = r if 2 * r == N else N  # opposite points meet twice on the way round
        near, far, k, s = within[:N], within[r : r + N], kernel[r - 1], d[r - 1]
        for i in range(pairs):
            w = abs(near[i]) if near[i] * far[i] > 0 else across
            total[i] += w * k[i]
            s[i] *= w
        for c in range(C):
            here, there = z[c, :N], z[c, r : r + N]
            one, other = ahead[c], behind[c, r : r + N]
            for i in range(pairs):
                pull = s[i] * (there[i] - here[i])
                one[i] += pull
                other[i] += pull
    # dk/dz_i = 2 dk/dd (z_i - z_j)
    scale = np.float32(0.5 * weight) / b
    for c in range(C):
        for i in range(N):
            pull = scale * (ahead[c, i] - behind[c, i] - behind[c, i + N])
            if i < n:
                dx[i, c] += pull
            else:
                dy[i - n, c] += pull
    return total.sum()


@compiled
def circle(x: Array, y: Array) -> tuple[Array, float]:
    """The points twice over, centred, [C, 2N]; and the mean squared distance of all pairs."""
    n, m, C = len(x), len(y), x.shape[1]
    N = n + m
    z, sq = np.empty((C, 2 * N), np.float32), np.zeros(N, np.float32)
    for c in range(C):
        mean = np.float32(0)
        for i in range(N):
            z[c, i] = x[i, c] if i < n else y[i - n, c]
            mean += z[c, i]
        mean /= N
        for i in range(N):
            z[c, i] -= mean
            z[c, i + N] = z[c, i]
            sq[i] += z[c, i] * z[c, i]
    return z, max(np.float32(2 / (N - 1)) * sq.sum(), np.float32(1e-12))


@compiled
def kernels(d: Array, scale: float, kernel: Array) -> None:
    """kernel: e + e^2 + e^4 + e^8 + e^16, e = exp(scale d); d becomes e + 2 e^2 + ... + 16 e^16.

    exp(x) = 2^k exp(x - k ln 2), with Cephes' polynomial: libm's exp takes one number at a time.
    """
    flat, out = d.reshape(-1), kernel.reshape(-1)
    power = np.empty(flat.size, np.int32)
    two = power.view(np.float32)  # 2^k: an exponent's bits
    for i in range(flat.size):
        x = flat[i] * scale
        x = np.float32(-87) if x < np.float32(-87) else x  # NaN stays
        k = np.int32(x * np.float32(1.44269504) - np.float32(0.5))
        power[i] = (k + np.int32(127)) << np.int32(23)
        f = np.float32(k)
        flat[i] = x - f * np.float32(0.693359375) + f * np.float32(2.12194440e-4)
    twice = np.float32(2)
    for i in range(flat.size):
        x = flat[i]
        p = np.float32(1.9875691500e-4) * x + np.float32(1.3981999507e-3)
        p = p * x + np.float32(8.3334519073e-3)
        p = p * x + np.float32(4.1665795894e-2)
        p = p * x + np.float32(1.6666665459e-1)
        p = p * x + np.float32(0.5)
        e = (p * x * x + x + np.float32(1)) * two[i]
        e2 = e * e
        e4 = e2 * e2
        e8 = e4 * e4
        e16 = e8 * e8
        out[i] = e + e2 + e4 + e8 + e16
        flat[i] = e + twice * (e2 + twice * (e4 + twice * (e8 + twice * e16)))

// The discrete Fourier transform of real signals whose half length has small prime factors: 960 samples, for one.

interface RealFft {
  /** `size` samples to `size / 2 + 1` bins, real and imaginary parts interleaved; not normalised. */
  forward(samples: Float64Array, bins: Float64Array): void
  /** The way back, divided by the size: inverse(forward(x)) is x. */
  inverse(bins: Float64Array, samples: Float64Array): void
}

function factorsOf(size: number): number[] {
  const factors: number[] = []
  let left = size
  for (const p of [4, 2, 3, 5]) for (; left % p === 0; left /= p) factors.push(p)
  if (left !== 1) throw new Error(`no transform of ${size} points`)
  return factors
}

/** exp(-2 pi i k / size) for every k: cosines and negative sines. */
function roots(size: number): { re: Float64Array; im: Float64Array } {
  const angle = (k: number) => (2 * Math.PI * k) / size
  return {
    re: Float64Array.from({ length: size }, (_, k) => Math.cos(angle(k))),
    im: Float64Array.from({ length: size }, (_, k) => -Math.sin(angle(k))),
  }
}

interface Complex {
  re: Float64Array
  im: Float64Array
}

const complex = (size: number): Complex => ({ re: new Float64Array(size), im: new Float64Array(size) })

/**
 * Stockham's self-sorting transform (Van Loan, Computational Frameworks for the Fast Fourier Transform, 1.7), one pass
 * per factor. Works in the arrays of `a`; returns the one of both that holds the result.
 */
function createComplexFft(size: number): (a: Complex) => Complex {
  const factors = factorsOf(size)
  const turn = roots(size)
  const small = new Map(factors.map((p) => [p, roots(p)]))
  const other = complex(size)
  const sum = complex(5)

  /** Joins `p` transforms of length `done` to one, at every of the `rest` places. */
  function pass(from: Complex, to: Complex, p: number, done: number, rest: number): void {
    const { re: cos, im: sin } = small.get(p)!
    for (let j = 0; j < done; j++)
      for (let k = 0; k < rest; k++) {
        for (let q = 0, t = 0; q < p; q++, t += j * rest) {
          const at = (j * p + q) * rest + k
          sum.re[q] = from.re[at]! * turn.re[t]! - from.im[at]! * turn.im[t]!
          sum.im[q] = from.re[at]! * turn.im[t]! + from.im[at]! * turn.re[t]!
        }
        for (let r = 0; r < p; r++) {
          let [re, im] = [sum.re[0]!, sum.im[0]!]
          for (let q = 1, t = r; q < p; q++, t = (t + r) % p) {
            re += sum.re[q]! * cos[t]! - sum.im[q]! * sin[t]!
            im += sum.re[q]! * sin[t]! + sum.im[q]! * cos[t]!
          }
          const at = (r * done + j) * rest + k
          to.re[at] = re
          to.im[at] = im
        }
      }
  }

  return (a) => {
    let [from, to] = [a, other]
    let done = 1
    for (const p of factors) {
      pass(from, to, p, done, size / done / p)
      done *= p
      ;[from, to] = [to, from]
    }
    return from
  }
}

/** `size` even. The samples are taken as complex numbers of half as many: even ones real, odd ones imaginary. */
export function createRealFft(size: number): RealFft {
  const half = size / 2
  const transform = createComplexFft(half)
  const turn = roots(size)
  const work = complex(half)

  function forward(samples: Float64Array, bins: Float64Array): void {
    for (let i = 0; i < half; i++) {
      work.re[i] = samples[2 * i]!
      work.im[i] = samples[2 * i + 1]!
    }
    const { re, im } = transform(work)
    for (let k = 0; k <= half; k++) {
      const [a, b] = [k % half, (half - k) % half]
      const [evenRe, evenIm] = [(re[a]! + re[b]!) / 2, (im[a]! - im[b]!) / 2]
      const [oddRe, oddIm] = [(im[a]! + im[b]!) / 2, (re[b]! - re[a]!) / 2]
      bins[2 * k] = evenRe + oddRe * turn.re[k]! - oddIm * turn.im[k]!
      bins[2 * k + 1] = evenIm + oddRe * turn.im[k]! + oddIm * turn.re[k]!
    }
  }

  /** By the forward transform of the conjugate. */
  function inverse(bins: Float64Array, samples: Float64Array): void {
    for (let k = 0; k < half; k++) {
      const m = half - k
      const [evenRe, evenIm] = [(bins[2 * k]! + bins[2 * m]!) / 2, (bins[2 * k + 1]! - bins[2 * m + 1]!) / 2]
      const [diffRe, diffIm] = [(bins[2 * k]! - bins[2 * m]!) / 2, (bins[2 * k + 1]! + bins[2 * m + 1]!) / 2]
      const oddRe = diffRe * turn.re[k]! + diffIm * turn.im[k]!
      const oddIm = diffIm * turn.re[k]! - diffRe * turn.im[k]!
      work.re[k] = evenRe - oddIm
      work.im[k] = -(evenIm + oddRe)
    }
    const { re, im } = transform(work)
    for (let i = 0; i < half; i++) {
      samples[2 * i] = re[i]! / half
      samples[2 * i + 1] = -im[i]! / half
    }
  }

  return { forward, inverse }
}

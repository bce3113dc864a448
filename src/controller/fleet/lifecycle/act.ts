import type { RunRequest, Stream } from '../../../wire/lifecycle.ts'
import type { Outcome } from './lifecycle.rules.ts'

/** Told output of a run under way, free of secrets. */
export type Tell = (stream: Stream, text: string) => void

/** Has a run done by whoever does runs here. What becomes of it is an outcome; only a bug rejects. */
export type Act = (run: RunRequest, tell: Tell, signal: AbortSignal) => Promise<Outcome>

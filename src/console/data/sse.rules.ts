import { backoff } from '../../kernel/backoff.ts'

/** Reads server-sent events from text as it comes: `event` and one `data` line each, comments skipped. */
export function eventParser(heard: (name: string, data: string) => void): (text: string) => void {
  let waiting = ''
  return (text) => {
    waiting += text
    for (let end = waiting.indexOf('\n\n'); end >= 0; end = waiting.indexOf('\n\n')) {
      const lines = waiting.slice(0, end).split('\n')
      waiting = waiting.slice(end + 2)
      const field = (name: string): string | undefined =>
        lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2)
      const data = field('data')
      if (data !== undefined) heard(field('event') ?? 'message', data)
    }
  }
}

/** Pause before a stream is asked for again for the `attempt`-th time, from 1: 1, 2, 4 ... 30 s; `random` (0..1) takes up to a quarter off. */
export const reconnectMs = (attempt: number, random: number): number => backoff(attempt, 500, 30_000, random / 2)

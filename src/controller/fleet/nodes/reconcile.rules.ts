import type { InterfaceInput } from '../../../wire/nodes.ts'

/** Hardware facts as they are stored; the agent owns them (docs/contract/nodes.md: Interfaces). */
export interface Hardware {
  backend: string
  channelCount: number
  hardwarePath: string | null
  sampleRates: number[]
  serialNumber: string | null
  systemName: string
  systemRef: string
}

export interface Known extends Hardware {
  absent: boolean
  id: string
  matchKey: string
}

export interface Plan {
  /** Not reported any more. */
  absent: Known[]
  added: { hardware: Hardware; input: InterfaceInput; matchKey: string }[]
  changed: { hardware: Hardware; input: InterfaceInput; known: Known; reactivated: boolean; updated: boolean }[]
  /** Not reported, and known to be absent. */
  missing: Known[]
  unchanged: number
}

/** Stable identity: the system ref, or the name of a device that has none. */
export const matchKey = (input: Pick<InterfaceInput, 'systemName' | 'systemRef'>): string =>
  input.systemRef?.trim() || input.systemName.trim()

/** `alsa:`, the plug layer and the first device of a card are what a ref may leave out. */
function deviceOf(ref: string): string {
  const [, args] = /^(?:alsa:)?(?:plug)?hw:(.+)$/.exec(ref.trim()) ?? []
  if (args === undefined) return ref.trim()
  const parts = args.split(',').map((part) => part.trim())
  const value = (key: string, at: number): string | undefined =>
    (parts.find((part) => part.startsWith(`${key}=`)) ?? parts[at])?.replace(/^[A-Z]+=/, '')
  return `hw:${value('CARD', 0)},${value('DEV', 1) ?? '0'}`
}

/** Whether two refs open the same device: `plughw:1` is `hw:1,0`. */
export const sameDevice = (a: string, b: string): boolean => deviceOf(a) === deviceOf(b)

/** The facts of a report; a fact that is not reported keeps its known value. */
function hardware(input: InterfaceInput, known?: Known): Hardware {
  return {
    backend: input.backend,
    channelCount: input.channelCount,
    hardwarePath: input.hardwarePath ?? known?.hardwarePath ?? null,
    sampleRates: input.sampleRates,
    serialNumber: input.serialNumber ?? known?.serialNumber ?? null,
    systemName: input.systemName,
    systemRef: matchKey(input),
  }
}

const FACTS = ['backend', 'channelCount', 'hardwarePath', 'serialNumber', 'systemName', 'systemRef'] as const

const differs = (a: Hardware, b: Hardware): boolean =>
  FACTS.some((fact) => a[fact] !== b[fact]) || a.sampleRates.join() !== b.sampleRates.join()

/**
 * What a report changes: new devices, changed or returned ones, and those no longer reported. Of a device that is reported twice
 * the first entry counts.
 */
export function reconcile(known: readonly Known[], reported: readonly InterfaceInput[]): Plan {
  const byKey = new Map(known.map((k) => [k.matchKey, k]))
  const inputs = new Map<string, InterfaceInput>()
  for (const input of reported) if (!inputs.has(matchKey(input))) inputs.set(matchKey(input), input)
  const plan: Plan = { absent: [], added: [], changed: [], missing: [], unchanged: 0 }
  for (const [key, input] of inputs) {
    const old = byKey.get(key)
    const facts = hardware(input, old)
    if (!old) plan.added.push({ hardware: facts, input, matchKey: key })
    else if (old.absent || differs(old, facts))
      plan.changed.push({ hardware: facts, input, known: old, reactivated: old.absent, updated: differs(old, facts) })
    else plan.unchanged++
  }
  for (const old of known) {
    if (inputs.has(old.matchKey)) continue
    if (old.absent) plan.missing.push(old)
    else plan.absent.push(old)
  }
  return plan
}

/** Channel rows an interface of this width has: the reporter's aliases, `Channel n` where it sent none. */
export const channelRows = (
  input: Pick<InterfaceInput, 'channelCount' | 'channels'>,
): { alias: string; index: number }[] =>
  Array.from({ length: input.channelCount }, (_, i) => ({
    alias: input.channels.find((c) => c.index === i + 1)?.alias ?? `Channel ${i + 1}`,
    index: i + 1,
  }))

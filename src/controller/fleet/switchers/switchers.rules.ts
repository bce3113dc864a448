import { type Fail, invalid } from '../../../kernel/fail.ts'
import type { SwitcherMappings, SwitcherModel } from '../../../wire/switchers.ts'

/** Inputs and outputs of a model. */
export const PORTS: Record<SwitcherModel, { inputs: number; outputs: number }> = {
  'avpro-ac-max': { inputs: 24, outputs: 24 },
}

/** Output -> input; 0 is no source. */
export type Routes = ReadonlyMap<number, number>

const refused = (why: string, path: (string | number)[]): Fail =>
  invalid(`Invalid mapping: ${why}`, path, why, 'invalid_mapping')

/** @throws Fail 400 `invalid_mapping` for a number the model does not have, or anything named twice. */
export function checkMappings({ inputs, outputs }: SwitcherMappings, ports: { inputs: number; outputs: number }): void {
  inputs.forEach(({ input }, i) => {
    if (input > ports.inputs) throw refused(`input ${input} is beyond the ${ports.inputs} of the model`, ['inputs', i])
  })
  outputs.forEach(({ output }, i) => {
    if (output > ports.outputs)
      throw refused(`output ${output} is beyond the ${ports.outputs} of the model`, ['outputs', i])
  })
  once(
    'input',
    'inputs',
    inputs.map((one) => one.input),
  )
  once(
    'room',
    'inputs',
    inputs.map((one) => one.roomId),
  )
  once(
    'output',
    'outputs',
    outputs.map((one) => one.output),
  )
  once(
    'user',
    'outputs',
    outputs.map((one) => one.userId),
  )
}

function once(what: string, list: string, values: (string | number)[]): void {
  const seen = new Set<string | number>()
  values.forEach((value, i) => {
    if (seen.has(value)) throw refused(`${what} ${value} is named twice`, [list, i])
    seen.add(value)
  })
}

export interface Wiring {
  inputs: readonly { input: number; roomId: string }[]
  outputs: readonly { output: number; userId: string }[]
}
export interface Live {
  roomId: string
  userIds: readonly string[]
}
export interface Conflict {
  candidates: number[]
  output: number
}

/**
 * The wanted input of each output: that of the room its user is live in (docs/contract/switchers.md: Routing). For a user in
 * several rooms the lowest input wins, and a conflict is reported. Outputs of people who are not live are left alone.
 */
export function desired({ inputs, outputs }: Wiring, live: readonly Live[]): { conflicts: Conflict[]; routes: Routes } {
  const inputOf = new Map(inputs.map(({ input, roomId }) => [roomId, input]))
  const routes = new Map<number, number>()
  const conflicts: Conflict[] = []
  for (const { output, userId } of outputs) {
    const candidates = live
      .filter(({ roomId, userIds }) => inputOf.has(roomId) && userIds.includes(userId))
      .map(({ roomId }) => inputOf.get(roomId) as number)
      .sort((a, b) => a - b)
    if (candidates.length > 1) conflicts.push({ candidates, output })
    if (candidates[0] !== undefined) routes.set(output, candidates[0])
  }
  return { conflicts, routes }
}

export interface Change {
  from: number
  output: number
  to: number
}

/** The owned outputs with a wrong input; all other outputs are left alone. */
export const changes = (wanted: Routes, current: Routes): Change[] =>
  [...wanted]
    .map(([output, to]) => ({ from: current.get(output) ?? 0, output, to }))
    .filter(({ from, to }) => from !== to)
    .sort((a, b) => a.output - b.output)

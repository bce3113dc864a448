import type { MappedInput, MappedOutput, SwitcherMappings } from '../../wire/switchers.ts'

export interface Mappings {
  inputs: readonly MappedInput[]
  outputs: readonly MappedOutput[]
}

/** What a form holds: the id of each place, empty where nothing is connected. */
export interface Chosen {
  input?: Readonly<Record<string, string>>
  output?: Readonly<Record<string, string>>
}

type Places = Readonly<Record<string, string>>

export const mapped = (pairs: readonly (readonly [place: number, id: string])[]): Places => Object.fromEntries(pairs)

/** `now` with what was changed of `shown`: what somebody else has connected meanwhile stays. */
const changed = (now: Places, shown: Places, chosen: Places): [place: number, id: string][] => {
  const edits = Object.entries(chosen).filter(([place, id]) => id !== (shown[place] ?? ''))
  return Object.entries({ ...now, ...Object.fromEntries(edits) })
    .filter(([, id]) => id !== '')
    .map(([place, id]) => [Number(place), id])
}

const inputs = (of: Mappings): Places => mapped(of.inputs.map(({ input, roomId }) => [input, roomId]))
const outputs = (of: Mappings): Places => mapped(of.outputs.map(({ output, userId }) => [output, userId]))

export const merged = (now: Mappings, shown: Mappings, { input = {}, output = {} }: Chosen): SwitcherMappings => ({
  inputs: changed(inputs(now), inputs(shown), input).map(([place, roomId]) => ({ input: place, roomId })),
  outputs: changed(outputs(now), outputs(shown), output).map(([place, userId]) => ({ output: place, userId })),
})

// The matrix driver (docs/contract/switchers.md: Driver): the device the model `avpro-ac-max` names, over raw TCP.
import type { SwitcherTest } from '../../../wire/switchers.ts'
import { firmwareOf, rejected, restorable, routesOf, routesSet } from './matrix.rules.ts'
import { type Address, DeviceError, Session } from './session.ts'
import type { Change, Routes } from './switchers.rules.ts'

/** The interface of a switcher of any make. All methods throw `DeviceError`. */
export interface SwitcherDriver {
  routes(): Promise<Routes>
  /** Sets each route and reads it back. */
  apply(changes: readonly Change[]): Promise<void>
  /** Never throws: a failure is the result of the test. */
  test(): Promise<SwitcherTest>
  snapshot(): Promise<string>
  /** @returns the routes before and after */
  restore(snapshot: string): Promise<{ after: Routes; before: Routes }>
}

/** Deadlines, ms: of a connection, of a command, of a snapshot or its restoration. */
export interface Deadlines {
  command: number
  connect: number
  long: number
}

export const DEADLINES: Deadlines = { command: 8000, connect: 6000, long: 12_000 }
const ALL_ROUTES = 'GET OUT0 AS'

/** Fails the step when a line is a rejection; otherwise the result of `make`. */
const unless =
  <T>(step: string, make: (lines: string[]) => T | undefined) =>
  (lines: string[]): T | undefined => {
    if (lines.some(rejected)) throw new DeviceError(`switcher_${step}_rejected`)
    return make(lines)
  }

export function matrixDriver(
  address: Address,
  outputs: number,
  signal: AbortSignal,
  deadlines: Deadlines = DEADLINES,
): SwitcherDriver {
  const whole = (lines: string[]) => routesOf(lines, outputs)
  const read = (session: Session, step = 'routes', ms = deadlines.command): Promise<Routes> =>
    session.ask(step, ALL_ROUTES, ms, unless(step, whole))

  const during = async <T>(talk: (session: Session) => Promise<T>): Promise<T> => {
    const session = await Session.open(address, deadlines.connect, signal)
    try {
      return await talk(session)
    } finally {
      session.close()
    }
  }

  /**
   * For an answer without a visible end: after its first line the routes are requested, and as the device answers in order,
   * everything before the complete list of routes is the answer.
   */
  const fenced = async (session: Session, step: string, command: string): Promise<string[]> => {
    await session.ask(step, command, deadlines.long, (lines) => (lines.length > 0 ? true : undefined))
    session.send(ALL_ROUTES)
    return session.collect(
      step,
      deadlines.long,
      unless(step, (lines) => (whole(lines) ? answerOf(lines) : undefined)),
    )
  }

  /** Sends commands, then reads all routes; a rejection of any command fails the step. */
  const sendAll = async (session: Session, step: string, ms: number, commands: readonly string[]): Promise<Routes> => {
    session.begin()
    for (const command of commands) await session.sendAndPause(command)
    const lineCount = session.lineCount()
    session.send(ALL_ROUTES)
    return session.collect(
      step,
      ms,
      unless(step, (lines) => whole(lines.slice(lineCount))),
    )
  }

  const set = async (session: Session, { output, to }: Change): Promise<void> =>
    confirm(await sendAll(session, 'set_route', deadlines.command, [`SET OUT${output} AS IN${to}`]), output, to)

  return {
    routes: () => during((session) => read(session)),
    apply: (changes) =>
      during(async (session) => {
        for (const change of changes) await set(session, change)
      }),
    test: () => during((session) => tested(session, read, fenced)).catch(unreachable),
    snapshot: () =>
      during(async (session) => {
        const lines = await fenced(session, 'snapshot', 'GET CONFIG')
        if (!lines.some((line) => /^SET\s/i.test(line))) throw new DeviceError('switcher_snapshot_incomplete')
        return lines.join('\n')
      }),
    restore: (snapshot) =>
      during(async (session) => {
        const commands = restorable(snapshot)
        const before = await read(session, 'restore')
        const after = await sendAll(session, 'restore', deadlines.long, commands)
        for (const [output, input] of routesSet(commands)) if (output > 0) confirm(after, output, input)
        return { after, before }
      }),
  }
}

function confirm(routes: Routes, output: number, input: number): void {
  const now = routes.get(output)
  if (now === undefined) throw new DeviceError('switcher_confirm_route_missing')
  if (now !== input) throw new DeviceError('switcher_confirm_route_mismatch')
}

/** The lines before the block of routes that ends the answer. */
const answerOf = (lines: string[]): string[] => lines.filter((line) => !/^OUT\d+ AS IN\d+$/i.test(line))

async function tested(
  session: Session,
  read: (session: Session) => Promise<Routes>,
  fenced: (session: Session, step: string, command: string) => Promise<string[]>,
): Promise<SwitcherTest> {
  const found = { model: 'avpro-ac-max', reachable: true } as const
  try {
    const routes = await read(session)
    const firmware = firmwareOf(await fenced(session, 'status', 'STA'))
    return { ...found, ...(firmware ? { firmware } : {}), ok: true, routeCount: routes.size }
  } catch (e) {
    // Reached, but it does not respond like this model: a result of the test, not an error.
    if (!(e instanceof DeviceError)) throw e
    const message = e.message === 'switcher_routes_unanswered' ? 'no_routes_returned' : e.message
    return { ...found, message, ok: false, routeCount: 0 }
  }
}

function unreachable(e: unknown): SwitcherTest {
  if (!(e instanceof DeviceError)) throw e
  return { message: e.message, model: 'avpro-ac-max', ok: false, reachable: false }
}

// Whether both boxes of a controller answer, and are those of one pair (docs/standby.md).
import { faultWords } from '../../kernel/words.ts'
import { advice, type Finding } from '../../wire/doctor.ts'
import { HEADERS } from '../../wire/headers.ts'
import { shellWord } from '../../wire/install.ts'
import { askBox, type BoxAnswer } from '../host/serving.ts'
import { tlsOptions } from '../host/trust.ts'
import type { Reached } from './controller.ts'
import { fail, ok, skipped, warn } from './examine.ts'

/** The second address a recorder knows. */
interface Second {
  name: string
  url: string | undefined
}

type Answer = BoxAnswer | undefined

/** How the two addresses of a recorder do together. */
export async function pairOf(reached: Reached, { name, url }: Second, signal: AbortSignal): Promise<Finding> {
  const { allowInsecure, names, trust, url: first } = reached
  if (url === undefined) return skipped(`${name} is not set: this controller is one box`)
  const options = { signal, termHeader: HEADERS.term, tls: tlsOptions(trust, allowInsecure) }
  let why: unknown
  const ask = (at: string): Promise<Answer> =>
    askBox(at, '/readyz', options).catch((e) => {
      if (at === url) why = e
      return undefined
    })
  const [one, two] = await Promise.all([ask(first), ask(url)])
  const restart = `sudo systemctl restart ${names.unit}`
  if (!two)
    return fail(
      `The second box does not answer at ${url}: ${faultWords(why, url)}`,
      advice(
        `If there is none any more, remove ${name} from ${names.file} (then: ${restart}). Else start it. How far it gets from here:`,
        `curl -vsS ${shellWord(`${url}/readyz`)}`,
      ),
    )
  return judgePair(one, two, { file: names.file, first, name, second: url })
}

interface Named {
  file: string
  first: string
  name: string
  second: string
}

/** What two answers to `GET /readyz` say of a pair; `one` is undefined where nothing answers. */
export function judgePair(one: Answer, two: BoxAnswer, { file, first, name, second }: Named): Finding {
  const wrong = advice(
    `Set ${name} in ${file} to the address of the second box of the same controller, as docs/standby.md says`,
  )
  if (two.term === 0) return fail(`What answers at ${second} is no box of a pair`, wrong)
  if (!one && two.status !== 200)
    return fail(
      `${first} does not answer, and the box at ${second} is not the controller`,
      advice('Start the first box; if it is lost, on the second one:', 'sudo roomtone takeover --unplanned'),
    )
  if (!one)
    return warn(
      `${second} is the controller, and ${first} does not answer`,
      advice('Start the other box, as a standby'),
    )
  if (one.term === 0) return fail(`What answers at ${first} is no box of a pair, and ${name} is set`, wrong)
  if (one.status === 200 && two.status === 200)
    return fail(
      `Both ${first} (term ${one.term}) and ${second} (term ${two.term}) say that they are the controller`,
      advice(`Only one of them holds the lease: stop the one with the lower term. Are they of one pair? ${wrong}`),
    )
  if (one.term !== two.term)
    return warn(
      `${first} is at term ${one.term}, ${second} at term ${two.term}: one of them does not see the lease, or is of another pair`,
      wrong,
    )
  const serving = one.status === 200 ? first : two.status === 200 ? second : undefined
  if (!serving)
    return fail(
      'Both boxes answer, and none of them is the controller',
      advice('On the standby:', 'sudo roomtone takeover'),
    )
  return ok(`Both boxes answer, at term ${one.term}; ${serving} is the controller`)
}

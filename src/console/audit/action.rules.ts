import type { AuditEvent } from '../../wire/audit.ts'
import { isLink } from '../alerts/moves.rules.ts'
import type { Words } from '../words/en.ts'

/** How it ended, which stands beside it: docs/audit.md. */
const ENDS = /\.(completed|failed|partial|running|started|succeeded)$/
/** Alerts have the same words here: `health.watchdog.clipping` is `watchdog.clipping`. */
const ALERT = /^health\.(?=(foresight|watchdog)\.)/
const LIFECYCLE = 'lifecycle.'

/** An action of the audit log in words; one that nobody has words for by its code. */
export const actionText = (action: string, words: Words): string =>
  wordsOf(action, words) ?? wordsOf(action.replace(ENDS, ''), words) ?? action

/** Who did it, as people call them. */
export const actorText = ({ id, name }: AuditEvent['actor'], { audit }: Words): string =>
  isLink(id) ? audit.byLink(name) : name

/** By the longest beginning that is something the log is about, if the rest is something that is done. */
function wordsOf(action: string, words: Words): string | undefined {
  for (let dot = action.length; dot > 0; dot = action.lastIndexOf('.', dot - 1)) {
    const area = areaOf(action.slice(0, dot), words)
    const deed = deedOf(action.slice(dot + 1), words)
    if (area && deed) return words.actions.said(area, deed)
  }
}

const areaOf = (area: string, { actions, alert }: Words): string | undefined =>
  actions.areas[area] ?? (ALERT.test(area) ? alert(area.replace(ALERT, '')) : undefined)

const deedOf = (deed: string, { actions, recorders }: Words): string | undefined =>
  actions.deeds[deed] ??
  (deed.startsWith(LIFECYCLE) ? (recorders.actions as Record<string, string>)[deed.slice(LIFECYCLE.length)] : undefined)

import { MAX_REPORTED_GAPS, RenditionDetails } from '../../../wire/recordings.ts'

/** The details a sender reported for a rendition; `fault` says why they were not kept. */
export interface ReceivedDetails {
  details?: RenditionDetails
  fault?: 'details_too_long' | 'details_unreadable'
}

const Lenient = RenditionDetails.optional().catch(undefined)

/** Longest header, characters as sent. */
const MAX_CHARACTERS = 8 * 1024

/** Reads the header `x-svc-rendition-details`. Never throws: audio is not refused because of invalid details. */
export function parseDetails(header: string | undefined): ReceivedDetails {
  if (header === undefined || header.trim() === '') return {}
  if (header.length > MAX_CHARACTERS) return { fault: 'details_too_long' }
  const details = Lenient.parse(decoded(header))
  if (!details) return { fault: 'details_unreadable' }
  return Object.keys(details).length > 0 ? { details } : {}
}

function decoded(header: string): unknown {
  try {
    return JSON.parse(decodeURIComponent(header))
  } catch {
    // Not percent-encoded JSON: the schema refuses it like any other.
    return undefined
  }
}

/** A piece of a take in its place: `at` is where it begins, seconds. */
export interface Piece {
  at: number
  details: RenditionDetails | undefined
}

/**
 * The details of the joined pieces, in order. Gaps move to their place in the whole; values that differ between pieces are left
 * out. So is loudness: the gated loudness of a whole (ITU-R BS.1770) does not follow from that of its parts.
 */
export function joinedDetails(pieces: readonly Piece[]): RenditionDetails | undefined {
  const known = pieces.flatMap(({ details }) => details ?? [])
  if (known.length === 0) return undefined
  const [only] = known
  const failed = known.find(({ enhancementFailure }) => enhancementFailure !== undefined)?.enhancementFailure
  const whole: RenditionDetails = {
    ...(pieces.length === 1 && only?.loudness ? { loudness: only.loudness } : {}),
    ...agreed(known, 'capture'),
    ...agreed(known, 'denoiser'),
    ...gapsOf(pieces),
    ...(failed === undefined ? {} : { enhancementFailure: failed }),
    ...(known.some(({ source }) => source === 'test') ? { source: 'test' } : {}),
  }
  return Object.keys(whole).length > 0 ? whole : undefined
}

function agreed<K extends 'capture' | 'denoiser'>(
  known: readonly RenditionDetails[],
  name: K,
): Pick<RenditionDetails, K> {
  const different = new Map(known.flatMap((one) => (one[name] ? [[JSON.stringify(one[name]), one[name]]] : [])))
  const [value] = different.values()
  return (different.size === 1 ? { [name]: value } : {}) as Pick<RenditionDetails, K>
}

const sum = (numbers: readonly number[]): number => numbers.reduce((all, one) => all + one, 0)

type Gap = NonNullable<RenditionDetails['gaps']>[number]
/** What is said in milliseconds touches within one. */
const TOUCHING_SECONDS = 0.001

/** A gap that goes on in the next piece is one. */
function withGap(gaps: Gap[], gap: Gap): Gap[] {
  const last = gaps.at(-1)
  if (!last || Math.abs(last.atSeconds + last.seconds - gap.atSeconds) > TOUCHING_SECONDS) return [...gaps, gap]
  return [...gaps.slice(0, -1), { ...last, seconds: gap.atSeconds + gap.seconds - last.atSeconds }]
}

function gapsOf(pieces: readonly Piece[]): Pick<RenditionDetails, 'gapCount' | 'gapSeconds' | 'gaps'> {
  const known = pieces.flatMap(({ at, details }) => (details ? [{ at, ...details }] : []))
  if (!known.some(({ gapCount, gaps }) => gapCount !== undefined || gaps !== undefined)) return {}
  const listed = known.flatMap(({ at, gaps: own = [] }) =>
    own.map((gap) => ({ ...gap, atSeconds: at + gap.atSeconds })),
  )
  const gaps = listed.reduce<Gap[]>(withGap, [])
  const gapCount = sum(known.map((one) => one.gapCount ?? one.gaps?.length ?? 0)) - (listed.length - gaps.length)
  const lengths = (one: RenditionDetails) => one.gapSeconds ?? sum((one.gaps ?? []).map(({ seconds }) => seconds))
  // Rounded to milliseconds, so that sums have no floating-point tails.
  const gapSeconds = Math.round(sum(known.map(lengths)) * 1000) / 1000
  return { gapCount, gapSeconds, ...(gaps.length > 0 ? { gaps: gaps.slice(0, MAX_REPORTED_GAPS) } : {}) }
}

import { iso } from '../../../kernel/clock.ts'
import { conflict } from '../../../kernel/fail.ts'
import type { AudioDefaults, Interface, Node, NodeProblem } from '../../../wire/nodes.ts'
// The status of a node as the API shows it (docs/contract/nodes.md: Status).

/** Statuses that only the controller sets: of nodes that do not report. */
export const SILENT: ReadonlySet<string> = new Set(['offline', 'provisioning', 'retired'])

/** SQL of node `n`: offline is derived at read, silent since before `@offlineBefore`, but never before first contact. */
export const STATUS = `CASE WHEN n.status NOT IN ('provisioning', 'retired') AND n.last_seen_at < @offlineBefore THEN 'offline' ELSE n.status END`

/** The `@offlineBefore` of `STATUS` at `now`, ISO; without a limit nobody is offline. */
export const offlineBefore = (now: string, afterSeconds: number): string =>
  afterSeconds === 0 ? '' : iso(Date.parse(now) - afterSeconds * 1000)

/** Whether the operator configured a capture device or program that no inventory lists. */
export const namesDevice = ({
  captureArgsTemplate,
  captureBackend,
  captureCommand,
  captureDevice,
}: AudioDefaults): boolean =>
  captureDevice !== undefined ||
  captureArgsTemplate !== undefined ||
  (captureCommand !== undefined && !/(^|\/)arecord$/.test(captureCommand)) ||
  (captureBackend !== undefined && captureBackend !== 'alsa')

/** What is asked of the devices of a node. */
type Device = Pick<Interface, 'absent' | 'channelCount'>
type OfNode<K extends keyof Node> = Pick<Node, K> & { interfaces: readonly Device[] }

const isUsable = ({ absent, channelCount }: Device): boolean => !absent && channelCount > 0

/** Whether the node has nothing to record from, by its report and the operator's settings. */
export const lacksDevice = ({ audioDefaults, interfaces }: OfNode<'audioDefaults'>): boolean =>
  !interfaces.some(isUsable) && !namesDevice(audioDefaults ?? {})

const NO_DEVICE: NodeProblem = { code: 'no_capture_device', message: 'no capture device' }
const NO_ENCODER: NodeProblem = {
  code: 'no_encoder',
  message: 'ffmpeg is not installed: takes are kept, but cannot be encoded',
}

/** The problems of a node; none before its first contact or after it was retired. */
export function problemsOf(node: OfNode<'audioDefaults' | 'runtime' | 'status'>): NodeProblem[] {
  if (node.status === 'provisioning' || node.status === 'retired') return []
  const problems = lacksDevice(node) ? [NO_DEVICE] : []
  return node.runtime?.encoder === 'missing' ? [...problems, NO_ENCODER] : problems
}

/** @throws Fail 409 for a node that is out of use */
export function mustBeInUse({ status }: { status: string }): void {
  if (status === 'retired') throw conflict('node_retired', 'Node is retired: reinstate it first')
}

import { Fail } from '../../kernel/fail.ts'
import { errorFields, type Log } from '../../kernel/log.ts'
import type { UploadRunnerStatus } from '../../wire/uploads.ts'
import { actionStates } from '../http/actions.ts'
import { type AnyRoute, flow, route } from '../http/route.ts'
import type { Visibility, visibilities } from '../http/visibility.ts'
import { summaryOf } from './queue.rules.ts'
import { type UploadQueueStore, withinRecordings } from './queue.store.ts'
import type { Uploader } from './upload.runner.ts'

interface Parts {
  log: Log
  queue: UploadQueueStore
  visibility: ReturnType<typeof visibilities>
  uploader: Uploader
}

const target = () => ({ type: 'upload_runner' })
const read = { auth: 'user', permission: 'recording:read', target } as const
const links = { run: '/api/v1/upload-runner/run', status: '/api/v1/upload-runner' }

export function uploadRunnerRoutes({ log, queue, visibility, uploader }: Parts): AnyRoute[] {
  /** The status, with only the visible items of the last pass. */
  const statusFor = (seen: Visibility): UploadRunnerStatus => {
    const { lastSummary, ...status } = uploader.status()
    if (!lastSummary) return status
    const ids = queue.visibleRecordings(
      seen,
      lastSummary.items.map((item) => item.recordingId),
    )
    return { ...status, lastSummary: summaryOf(lastSummary.items.filter((item) => ids.has(item.recordingId))) }
  }

  return [
    route({
      method: 'GET',
      path: '/upload-runner',
      ...read,
      action: 'recordings.upload_runner.read',
      run: ({ principal }) => ({ data: statusFor(visibility(principal, 'recording:read')) }),
    }),
    route({
      method: 'GET',
      path: '/upload-runner/actions',
      ...read,
      action: 'recordings.upload_runner.actions.read',
      run: ({ principal }) => {
        const status = statusFor(visibility(principal, 'recording:read'))
        const blocked = status.running && 'upload_runner_already_running'
        const actions = actionStates(principal, {
          run: { blocked, href: links.run, method: 'POST', permission: 'recording:control' },
          status: { href: links.status, method: 'GET', permission: 'recording:read' },
        })
        return { data: { actions, links, status } }
      },
    }),
    flow({
      method: 'POST',
      path: '/upload-runner/run',
      auth: 'user',
      permission: 'recording:control',
      action: 'recordings.upload_runner.run',
      target,
      run: async ({ principal }) => {
        const seen = visibility(principal, 'recording:control')
        const summary = await uploader.pass(withinRecordings(seen)).catch((e: unknown) => {
          if (e instanceof Fail) throw e
          log.error('internal error: the requested run of the upload queue failed. Please report this', errorFields(e))
          throw new Fail(500, 'upload_runner_failed', 'Upload runner failed')
        })
        const { items: _, ...counts } = summary
        return {
          data: statusFor(seen),
          beside: { summary },
          details: counts,
          ...(summary.failed + summary.deferred > 0 ? { outcome: 'partial' as const } : {}),
        }
      },
    }),
  ]
}

import { invalid } from '../../../kernel/fail.ts'
import type { Log } from '../../../kernel/log.ts'
import { BulkMetadata, type Recording, RecordingIds, RecordingMetadata } from '../../../wire/recordings.ts'
import type { Events } from '../../events.ts'
import type { PathClaims } from '../../http/claims.ts'
import { removeFiles } from '../../http/files.ts'
import { partsOf } from '../../http/parts.ts'
import { type AnyRoute, type Done, flow, route } from '../../http/route.ts'
import type { visibilities } from '../../http/visibility.ts'
import { changedTags } from './recordings.rules.ts'
import type { RecordingStore } from './recordings.store.ts'

/** `takes` is the directory of the stored files. */
interface Editing {
  events: Events
  log: Log
  paths: PathClaims
  visibility: ReturnType<typeof visibilities>
  recordings: RecordingStore
  takes: string
}

const MAX_TAGS = 32
/** Recordings deleted in one transaction: each changes the counts of the library, and 200 would hold everybody up for 70 ms. */
const AT_ONCE = 40

const one = (p: { id: string }) => ({ type: 'recording', id: p.id })
const all = () => ({ type: 'recording_collection' })
const edit = { auth: 'user', permission: 'recording:edit' } as const
const remove = { auth: 'user', permission: 'recording:delete' } as const

export const editingRoutes = (editing: Editing): AnyRoute[] => [...metadataRoutes(editing), ...deletionRoutes(editing)]

const metadataRoutes = ({ visibility, recordings }: Editing): AnyRoute[] => [
  route({
    method: 'PATCH',
    path: '/recordings/:id/metadata',
    ...edit,
    action: 'recordings.metadata.update',
    target: one,
    body: RecordingMetadata,
    run: ({ params: { id }, body, now }) => {
      const { before, after } = recordings.edit(id, body, now)
      const target = { type: 'recording', id, name: after.name }
      return { data: after, before, after, correlation: { recordingId: id }, target }
    },
  }),
  route({
    method: 'PATCH',
    path: '/recordings/bulk-metadata',
    ...edit,
    action: 'recordings.metadata.bulk_update',
    target: all,
    body: BulkMetadata,
    run: ({ body, principal, now }) => {
      const chosen = recordings.selected(visibility(principal, 'recording:edit'), body.recordingIds)
      const edits = chosen.map((recording) => ({ recording, tags: tagsOf(recording, body) }))
      const after = edits.map(
        ({ recording: { id }, tags }) => recordings.edit(id, { folder: body.folder, tags }, now).after,
      )
      return {
        data: after,
        beside: { meta: { updatedCount: after.length } },
        before: { recordings: chosen.map(auditFields) },
        after: { recordings: after.map(auditFields) },
        details: { recordingIds: after.map(({ id }) => id), updatedCount: after.length },
      }
    },
  }),
]

// What a bulk edit can change; a hundred whole recordings would make an audit row of megabytes.
const auditFields = ({ folder, id, tags }: Recording) => ({ folder, id, tags })

/** @throws Fail 400 when a recording would carry too many. */
function tagsOf({ id, tags }: Recording, changes: BulkMetadata): string[] | undefined {
  const after = changedTags(tags, changes)
  if (after && after.length > MAX_TAGS)
    throw invalid(
      'Too many tags: take some away from these recordings first',
      ['addTags'],
      `${id} would carry ${after.length} tags, ${MAX_TAGS} are the most`,
    )
  return after
}

const deletionRoutes = ({ events, log, paths, visibility, recordings, takes }: Editing): AnyRoute[] => {
  /** Runs a transaction that deletes recordings, then deletes their files and the parts of unfinished uploads. */
  const withFileRemoval = async (
    ids: string[],
    write: (discard: (files: readonly string[]) => void) => Promise<Done<null>>,
  ) => {
    const { done, failures } = await paths.removing(write)
    for (const { path, error } of [...failures, ...(await removeFiles(takes, await partsOf(takes, ids)))])
      log.warn('file of a deleted recording could not be removed', { path, error })
    return done
  }
  return [
    flow({
      method: 'DELETE',
      path: '/recordings/:id',
      ...remove,
      action: 'recordings.delete',
      target: one,
      status: 204,
      run: ({ params }, commit) =>
        withFileRemoval([params.id], (discard) =>
          commit(() => {
            const { before, paths } = recordings.remove(params.id)
            discard(paths)
            events.emit('recording.deleted', { id: params.id })
            const details = { fileCount: paths.length }
            const target = { type: 'recording', id: before.id, name: before.name }
            return { data: null, before, correlation: { recordingId: before.id }, details, target }
          }),
        ),
    }),
    flow({
      method: 'POST',
      path: '/recordings/bulk-delete',
      ...remove,
      action: 'recordings.bulk_delete',
      target: all,
      body: RecordingIds,
      run: async ({ body, principal }, commit) => {
        const chosen = recordings.selected(visibility(principal, 'recording:delete'), body.recordingIds)
        // If one may not be deleted, none is.
        for (const { id } of chosen) recordings.mustBeOver(id)
        const deleted: Recording[] = []
        for (let at = 0; at < chosen.length; at += AT_ONCE) {
          const ids: string[] = []
          await withFileRemoval(ids, (discard) =>
            commit(() => {
              // What began anew meanwhile stays, and keeps no other: the first are gone already.
              const batch = chosen.slice(at, at + AT_ONCE).filter(({ id }) => at === 0 || recordings.isOver(id))
              const files = batch.flatMap(({ id }) => recordings.remove(id).paths)
              discard(files)
              for (const { id } of batch) events.emit('recording.deleted', { id })
              deleted.push(...batch)
              ids.push(...batch.map(({ id }) => id))
              return { data: null, ...deletion(batch, files.length) }
            }),
          )
        }
        const cacheDeletedCount = deleted.filter(({ cached }) => cached).length
        return { data: deleted, beside: { meta: { cacheDeletedCount, deletedCount: deleted.length } } }
      },
    }),
  ]
}

/** What the audit says of recordings that were deleted together. */
const deletion = (batch: Recording[], fileCount: number) => ({
  before: { recordings: batch.map(({ folder, id, name, status }) => ({ folder, id, name, status })) },
  details: { deletedCount: batch.length, fileCount },
})

import type { Job } from '../../wire/recordings.ts'
import { useRead } from '../data/reads.ts'
import { bytesOf, lengthOf } from '../time/format.rules.ts'
import { Dialog } from '../ui/dialog.tsx'
import { Loading } from '../ui/parts.tsx'
import { Table } from '../ui/table.tsx'
import { useWords } from '../words/words.ts'

interface Part {
  durationSeconds: number
  id: string
  index: number
  offsetSeconds: number
  sizeBytes?: number
  status: string
}

/** The parts of a capture that have arrived. */
export function Parts({ close, job }: { close(): void; job: Job }) {
  const words = useWords()
  const parts = useRead<{ data: Part[] }>(`/recording-jobs/${encodeURIComponent(job.id)}/chunks`, ['job'])
  return (
    <Dialog title={words.activity.partsOf(job.command.outputFileName)} close={close}>
      <Loading of={parts}>
        {({ data }) => (
          <Table
            caption={words.activity.parts}
            empty={words.activity.noParts}
            rows={data}
            columns={[
              { cell: ({ index }) => words.activity.part(index), head: words.activity.parts },
              { cell: ({ offsetSeconds }) => lengthOf(offsetSeconds), head: words.activity.from, numeric: true },
              { cell: ({ durationSeconds }) => lengthOf(durationSeconds), head: words.take.length, numeric: true },
              {
                cell: ({ sizeBytes }) => sizeBytes !== undefined && bytesOf(sizeBytes, words.locale),
                head: words.activity.size,
                numeric: true,
              },
              { cell: ({ status }) => words.status[status] ?? status, head: words.activity.status },
            ]}
          />
        )}
      </Loading>
    </Dialog>
  )
}

import { useWords } from '../words/words.ts'
import type { Filters } from './filters.tsx'
import ui from './ui.module.css'

interface ExportProps {
  filters: Filters
  of: 'audit-events' | 'health-events' | 'nodes' | 'recording-jobs' | 'recordings' | 'schedules'
}

/** Everything the filters leave, on all pages, as a table. */
export function ExportLink({ filters, of }: ExportProps) {
  const words = useWords()
  return (
    <a class={ui.button} href={`/api/v1/${of}/export?${new URLSearchParams(filters.values)}`} download>
      {words.audit.export}
    </a>
  )
}

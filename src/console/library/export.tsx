import type { Filters } from '../ui/filters.tsx'
import ui from '../ui/ui.module.css'
import { useWords } from '../words/words.ts'

interface ExportProps {
  filters: Filters
  of: 'health-events' | 'nodes' | 'recording-jobs' | 'recordings'
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

import { useSearchParams } from 'wouter-preact'
import type { Recording } from '../../wire/recordings.ts'
import { useRead } from '../data/reads.ts'
import { Button, Field, Loading, Section, Title } from '../ui/parts.tsx'
import ui from '../ui/ui.module.css'
import { useWords } from '../words/words.ts'
import { TakeRows } from './rows.tsx'

interface Page {
  data: Recording[]
  meta: { offset: number; returned: number; total: number; totalIsLowerBound?: true }
}

const PAGE = 50

/** Search and page stand in the address: links and the back button keep them. */
export function Library(_: { id: string }) {
  const words = useWords()
  const [params, setParams] = useSearchParams()
  const search = params.get('q') ?? ''
  const offset = Math.max(0, Number(params.get('offset') ?? 0) || 0)
  const query = new URLSearchParams({ limit: String(PAGE), offset: String(offset), ...(search ? { search } : {}) })
  const takes = useRead<Page>(`/recordings?${query}`, ['recording'])
  const go = (to: number): void =>
    setParams({ ...(search ? { q: search } : {}), ...(to > 0 ? { offset: String(to) } : {}) })
  const submit = (e: SubmitEvent): void => {
    e.preventDefault()
    const wanted = String(new FormData(e.currentTarget as HTMLFormElement).get('q') ?? '').trim()
    setParams(wanted ? { q: wanted } : {})
  }
  return (
    <>
      <Title>{words.library.title}</Title>
      <search>
        <form onSubmit={submit} class={ui.row}>
          <div class={ui.grow}>
            <Field
              key={search}
              id="q"
              name="q"
              type="search"
              label={words.library.search}
              defaultValue={search}
              maxLength={240}
            />
          </div>
        </form>
      </search>
      <Loading of={takes}>
        {({ data, meta }) => (
          <Section title={shown(words, meta)}>
            <TakeRows empty={words.library.empty} takes={data} />
            <div class={ui.row}>
              <Button disabled={offset === 0} onClick={() => go(Math.max(0, offset - PAGE))}>
                {words.library.newer}
              </Button>
              <Button disabled={meta.offset + meta.returned >= meta.total} onClick={() => go(offset + PAGE)}>
                {words.library.older}
              </Button>
            </div>
          </Section>
        )}
      </Loading>
    </>
  )
}

const shown = (
  words: ReturnType<typeof useWords>,
  { offset, returned, total, totalIsLowerBound }: Page['meta'],
): string =>
  words.library.page(
    Math.min(offset + 1, total),
    offset + returned,
    `${total.toLocaleString(words.locale)}${totalIsLowerBound ? '+' : ''}`,
  )

import { Fragment } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { keep, kept } from '../data/kept.ts'
import { Dialog } from '../ui/dialog.tsx'
import { Tick } from '../ui/form.tsx'
import { Button } from '../ui/parts.tsx'
import { Table } from '../ui/table.tsx'
import { useWords } from '../words/words.ts'

/** Every key there is. Those of one character work anywhere but where one types, and can be switched off. */
const KEYS = {
  help: ['?'],
  search: ['/'],
  rows: ['↑', '↓'],
  play: ['Space'],
  jump: ['←', '→', 'J', 'L', 'Page Up', 'Page Down'],
  lift: ['Enter'],
  carry: ['←', '→', '↑', '↓'],
  hour: ['Shift ↑', 'Shift ↓'],
  back: ['Esc'],
} as const
type KeyName = keyof typeof KEYS

const STORED = 'roomtone.keys'

const areOn = (): boolean => kept(STORED) !== 'off'
const turn = (on: boolean): void => keep(STORED, on ? 'on' : 'off')

const TYPED = 'input, textarea, select, [contenteditable]'

/** `?` for help and `/` for the search of the page. */
export function Keys() {
  const [open, setOpen] = useState(false)
  useEffect(() => {
    const pressed = (e: KeyboardEvent): void => {
      const typing = (e.target as Element).matches(TYPED) || document.querySelector('dialog[open]') !== null
      if (e.ctrlKey || e.metaKey || e.altKey || typing || !areOn()) return
      const search = document.querySelector<HTMLElement>('main input[type="search"]')
      if (e.key === '?') setOpen(true)
      else if (e.key === '/' && search) search.focus()
      else return
      e.preventDefault()
    }
    document.addEventListener('keydown', pressed)
    return () => document.removeEventListener('keydown', pressed)
  }, [])
  return open ? <KeysDialog close={() => setOpen(false)} /> : null
}

/** The same help by a button, also where single keys are switched off. */
export function KeysButton() {
  const words = useWords()
  const [open, setOpen] = useState(false)
  return (
    <>
      <Button onClick={() => setOpen(true)}>{words.keys.title}</Button>
      {open && <KeysDialog close={() => setOpen(false)} />}
    </>
  )
}

function KeysDialog({ close }: { close(): void }) {
  const words = useWords()
  const [on, setOn] = useState(areOn)
  const choose = (next: boolean): void => {
    turn(next)
    setOn(next)
  }
  const named = (key: string) => (
    <Fragment key={key}>
      <kbd>{words.keys.named[key] ?? key}</kbd>{' '}
    </Fragment>
  )
  return (
    <Dialog title={words.keys.title} close={close}>
      <Table
        caption={words.keys.title}
        rows={(Object.keys(KEYS) as KeyName[]).map((id) => ({ id }))}
        columns={[
          { cell: ({ id }) => <span>{KEYS[id].map(named)}</span>, head: words.keys.key },
          { cell: ({ id }) => words.keys.does[id], head: words.keys.what },
        ]}
      />
      <Tick name="single" label={words.keys.single} checked={on} onChange={(e) => choose(e.currentTarget.checked)} />
    </Dialog>
  )
}

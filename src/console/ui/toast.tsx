import { type ComponentChildren, createContext } from 'preact'
import { useContext, useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { useWords } from '../words/words.ts'
import { Button } from './parts.tsx'
import css from './ui.module.css'

interface Said {
  id: number
  text: string
  undo?: () => void
}
type Say = (text: string, undo?: () => void) => void

const ToastContext = createContext<Say>(() => {})
/** Says that something was done, for 10 s; nothing important stands only here. */
export const useToast = (): Say => useContext(ToastContext)

const SHOWN_MS = 10_000

/** Below each other: what is said next takes nobody's way back. */
export function Toasts({ children }: { children: ComponentChildren }) {
  const [all, setAll] = useState<Said[]>([])
  const ids = useRef(0)
  const drop = useMemo(() => (id: number) => setAll((was) => was.filter((one) => one.id !== id)), [])
  const say = useMemo<Say>(
    () => (text, undo) => {
      const said = { id: ++ids.current, text, ...(undo ? { undo } : {}) }
      // What offers no way back is only the newest.
      setAll((was) => [...was.filter((one) => one.undo), said])
    },
    [],
  )
  return (
    <ToastContext.Provider value={say}>
      {children}
      <div role="status" aria-atomic="false" class={css.toast}>
        {all.map((said) => (
          <Toast key={said.id} drop={() => drop(said.id)} said={said} />
        ))}
      </div>
    </ToastContext.Provider>
  )
}

function Toast({ drop, said: { text, undo } }: { drop(): void; said: Said }) {
  const words = useWords()
  useEffect(() => {
    const timer = setTimeout(drop, SHOWN_MS)
    return () => clearTimeout(timer)
  }, [])
  return (
    <div class={css.notice}>
      <span class={css.grow}>{text}</span>
      {undo && <Button onClick={() => [undo(), drop()]}>{words.common.undo}</Button>}
    </div>
  )
}

import { type ComponentChildren, createContext } from 'preact'
import { useContext, useEffect, useMemo, useState } from 'preact/hooks'
import { useWords } from '../words/words.ts'
import { Button } from './parts.tsx'
import css from './ui.module.css'

interface Said {
  text: string
  undo?: () => void
}
type Say = (text: string, undo?: () => void) => void

const ToastContext = createContext<Say>(() => {})
/** Says that something was done, for 10 s; nothing important stands only here. */
export const useToast = (): Say => useContext(ToastContext)

const SHOWN_MS = 10_000

export function Toasts({ children }: { children: ComponentChildren }) {
  const words = useWords()
  const [said, setSaid] = useState<Said>()
  const say = useMemo<Say>(() => (text, undo) => setSaid({ text, ...(undo ? { undo } : {}) }), [])
  useEffect(() => {
    if (!said) return
    const timer = setTimeout(() => setSaid(undefined), SHOWN_MS)
    return () => clearTimeout(timer)
  }, [said])
  return (
    <ToastContext.Provider value={say}>
      {children}
      <div role="status" class={css.toast}>
        {said && (
          <div class={css.notice}>
            <span class={css.grow}>{said.text}</span>
            {said.undo && <Button onClick={() => [said.undo?.(), setSaid(undefined)]}>{words.common.undo}</Button>}
          </div>
        )}
      </div>
    </ToastContext.Provider>
  )
}

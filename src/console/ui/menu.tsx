import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import css from './ui.module.css'

/** Buttons behind a button; escape, a click inside and a click elsewhere close it. */
export function Menu({ children, label }: { children: ComponentChildren; label: string }) {
  const ref = useRef<HTMLDetailsElement>(null)
  const inside = useRef<HTMLDivElement>(null)
  const shut = (): void => ref.current?.removeAttribute('open')
  useEffect(() => inside.current?.addEventListener('click', shut), [])
  const key = (e: KeyboardEvent): void => {
    if (e.key !== 'Escape') return
    shut()
    ref.current?.querySelector('summary')?.focus()
  }
  const left = (e: FocusEvent): void => {
    if (!ref.current?.contains(e.relatedTarget as Node | null)) shut()
  }
  return (
    <details ref={ref} class={css.menu} onKeyDown={key} onFocusOut={left}>
      <summary class={css.button}>{label}</summary>
      <div ref={inside} class={css.deeds}>
        {children}
      </div>
    </details>
  )
}

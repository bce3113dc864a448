import type { ComponentChildren } from 'preact'
import { Link } from 'wouter-preact'
import type { Permission } from '../../wire/permissions.ts'
import type { IconName } from '../ui/icon.tsx'
import { Button } from '../ui/parts.tsx'
import { useRefusal } from '../ui/refusal.ts'
import ui from '../ui/ui.module.css'
import { useWords } from '../words/words.ts'
import { useApp } from './context.ts'
import { may } from './may.rules.ts'

interface ActionButtonProps {
  children: ComponentChildren
  disabled?: boolean
  icon?: IconName
  kind?: 'danger' | 'primary'
  needs: Permission
  onClick(): void
  roomId?: string | undefined
}

/** A button that takes a permission: without it there is the button, and why it does nothing. */
export function ActionButton({ needs, roomId, ...button }: ActionButtonProps) {
  const refusal = useRefusal()
  return <Button {...button} refused={refusal(needs, roomId)} />
}

/** What was done to one thing, in the audit log; nothing for who may not read that. */
export function HistoryLink({ target }: { target: string }) {
  const words = useWords()
  const { me } = useApp()
  if (!may(me, 'audit:read')) return null
  return (
    <Link class={ui.button} href={`/audit?${new URLSearchParams({ changes: '1', target })}`}>
      {words.audit.history}
    </Link>
  )
}

import { type ComponentChildren, Fragment, type JSX } from 'preact'
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { Link } from 'wouter-preact'
import { ApiError } from '../data/api.ts'
import { useWords } from '../words/words.ts'
import { faultText, isEnded, isWithdrawn } from './fault.rules.ts'
import { Icon, type IconName } from './icon.tsx'
import css from './ui.module.css'

export const classes = (...names: (false | string | undefined)[]): string => names.filter(Boolean).join(' ')

interface ButtonProps extends Omit<JSX.HTMLAttributes<HTMLButtonElement>, 'icon'> {
  disabled?: boolean
  icon?: IconName
  kind?: 'danger' | 'primary'
  /** Why it does nothing: told to a finger, the keyboard and a screen reader, which a disabled button never meets. */
  refused?: string | undefined
  type?: 'button' | 'submit'
}

export const Button = ({ children, icon, kind, refused, type = 'button', ...rest }: ButtonProps) => {
  const label = (
    <>
      {icon && <Icon name={icon} />}
      {children}
    </>
  )
  const looks = classes(css.button, kind && css[kind])
  if (refused !== undefined)
    return (
      <RefusedButton looks={looks} name={rest['aria-label']} why={refused}>
        {label}
      </RefusedButton>
    )
  return (
    <button {...rest} type={type} class={looks}>
      {label}
    </button>
  )
}

interface RefusedProps {
  children: ComponentChildren
  looks: string
  name: JSX.HTMLAttributes['aria-label']
  why: string
}

function RefusedButton({ children, looks, name, why }: RefusedProps) {
  const id = useId()
  const [told, setTold] = useState(false)
  return (
    <span class={css.refused}>
      <button
        type="button"
        class={looks}
        aria-describedby={id}
        aria-disabled="true"
        {...(name === undefined ? {} : { 'aria-label': name })}
        title={why}
        onBlur={() => setTold(false)}
        onClick={() => setTold(true)}
        onFocus={() => setTold(true)}
      >
        {children}
      </button>
      <span id={id} class={classes(css.small, css.quiet)} hidden={!told}>
        {why}
      </span>
    </span>
  )
}

/** The heading of a page: takes the focus when the page is opened, so that it is read out. */
export function Title({ children }: { children: ComponentChildren }) {
  const ref = useRef<HTMLHeadingElement>(null)
  useEffect(() => ref.current?.focus(), [])
  useEffect(() => {
    document.title = `${ref.current?.textContent} · Roomtone`
  })
  return (
    <h1 ref={ref} tabIndex={-1}>
      {children}
    </h1>
  )
}

const TONES: Record<string, string> = {
  alerting: 'bad',
  critical: 'bad',
  degraded: 'warn',
  failed: 'bad',
  failing: 'bad',
  offline: 'bad',
  online: 'good',
  partial: 'warn',
  ready: 'good',
  recording: 'recording',
  sent: 'good',
  uploaded: 'good',
  cached: 'good',
  warning: 'warn',
}

/** A state by its word and colour; the word alone is enough. */
export const Badge = ({ state, word }: { state: string; word: string }) => (
  <span class={classes(css.badge, css[TONES[state] ?? 'quiet'])}>{word}</span>
)

/** What a code means, in words where there are some; the code itself stands in the title. `among`: by its beginning. */
export function Said({ among, code }: { among: readonly (readonly [string, string])[]; code: string }) {
  const [, said = code] = among.find(([start]) => code.startsWith(start)) ?? []
  return (
    <span title={code}>
      <Name>{said}</Name>
    </span>
  )
}

/** A name that somebody chose: isolated, so that its direction changes nothing around it. */
export const Name = ({ children }: { children: string | undefined }) => <bdi>{children}</bdi>

export const Skeleton = () => {
  const words = useWords()
  return (
    <div role="status" class={css.skeleton}>
      <span class={css.hidden}>{words.common.loading}</span>
    </div>
  )
}

/** `retry` is given where something was read; what was refused without it is something that somebody wanted to do. */
export function Failure({ error, retry }: { error: Error; retry?: () => void }) {
  const words = useWords()
  const { common, failures } = words
  const denied = error instanceof ApiError && error.permission !== undefined
  const heading = denied ? (retry ? failures.denied : failures.refused) : failures.failed
  return (
    <div role="alert" class={classes(css.notice, css.bad)}>
      <div class={css.grow}>
        <strong>{heading}</strong>
        <p>{faultText(error, words)}</p>
      </div>
      {retry && <Button onClick={retry}>{common.retry}</Button>}
    </div>
  )
}

interface Loaded<T> {
  data: T | undefined
  error: Error | null
  refetch(): unknown
}

/** The frame of everything that is read: a skeleton, then the thing, or why not; old data stays while new comes. */
export function Loading<T>({ children, of }: { children: (data: T) => ComponentChildren; of: Loaded<T> }) {
  const { data, error } = of
  const retry = (): void => void of.refetch()
  if (error && (data === undefined || isWithdrawn(error))) return <Failure error={error} retry={retry} />
  if (data === undefined) return <Skeleton />
  return (
    <>
      {error && !isEnded(error) && <Old retry={retry} />}
      {children(data)}
    </>
  )
}

/** What is on the screen could not be read again. */
function Old({ retry }: { retry(): void }) {
  const { common, failures } = useWords()
  return (
    <div role="status" class={classes(css.notice, css.warn)}>
      <span class={css.grow}>{failures.old}</span>
      <Button onClick={retry}>{common.retry}</Button>
    </div>
  )
}

interface SectionProps {
  aside?: ComponentChildren
  children: ComponentChildren
  title: string
}

export const Section = ({ aside, children, title }: SectionProps) => (
  <section aria-label={title} class={classes(css.card, css.stack)}>
    <div class={css.heading}>
      <h2>{title}</h2>
      {aside}
    </div>
    {children}
  </section>
)

export type Fact = readonly [name: string, value: ComponentChildren]

/** Names and values; what has no value is left out. */
export const Facts = ({ of }: { of: readonly Fact[] }) => (
  <dl class={css.facts}>
    {of
      .filter(([, value]) => value !== undefined && value !== null && value !== false && value !== '')
      .map(([name, value]) => (
        <Fragment key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </Fragment>
      ))}
  </dl>
)

/** The parts of a page, each with an address of its own; `at`: the address of the one that is shown. */
export function Tabs({ at, label, tabs }: { at: string; label: string; tabs: readonly (readonly [string, string])[] }) {
  return (
    <nav aria-label={label}>
      <ul class={css.tabs}>
        {tabs.map(([href, word]) => (
          <li key={href}>
            <Link class={css.tab} href={href} {...(href === at ? { 'aria-current': 'page' as const } : {})}>
              {word}
            </Link>
          </li>
        ))}
      </ul>
    </nav>
  )
}

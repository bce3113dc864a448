import { useEffect, useState } from 'preact/hooks'
import { installLine } from '../../wire/install.ts'
import type { Node } from '../../wire/nodes.ts'
import { useApp } from '../app/context.ts'
import { useWrite } from '../data/reads.ts'
import { instantOf } from '../time/format.rules.ts'
import { Button, Failure, Section } from '../ui/parts.tsx'
import { Copyable } from '../ui/secret.tsx'
import ui from '../ui/ui.module.css'
import { useWords } from '../words/words.ts'
import { SETUP_FILE, type SetupFile, setupWish } from './setup.ts'

interface SetUpProps {
  file: SetupFile | undefined
  made(file: SetupFile): void
  node: Node
}

const WAYS = ['type', 'stick', 'prepared'] as const
type Way = (typeof WAYS)[number]

/** How the box gets its settings, and the wait for its first word. */
export function SetUp({ file, made, node }: SetUpProps) {
  const words = useWords()
  const [way, setWay] = useState<Way>('type')
  return (
    <>
      <Section title={words.onboard.how}>
        <div class={ui.row} role="radiogroup" aria-label={words.onboard.how}>
          {WAYS.map((one) => (
            <label key={one} class={ui.button}>
              <input type="radio" name="way" checked={way === one} onChange={() => setWay(one)} />
              {words.onboard.ways[one]}
            </label>
          ))}
        </div>
        {way === 'type' && <Line node={node} />}
        {way === 'stick' && <Stick file={file} made={made} node={node} />}
        {way === 'prepared' && <p>{words.onboard.preparedIt}</p>}
      </Section>
      <Waiting />
    </>
  )
}

interface BootstrapToken {
  expiresAt: string
  installLine?: string
  token: string
}

/** The line to type. The controller makes it where it knows its own address, else this page does. */
function Line({ node }: { node: Node }) {
  const words = useWords()
  const { clockwork } = useApp()
  const write = useWrite<{ data: BootstrapToken }>()
  const told = write.data?.data
  const made = (): string => {
    const { origin } = location
    const wish = { allowInsecure: origin.startsWith('http:'), controllerUrl: origin, nodeId: node.id }
    return installLine({ ...wish, room: node.location.room, site: node.location.site, token: told?.token ?? '' })
  }
  return (
    <>
      <p>{words.onboard.typeIt}</p>
      {told && (
        <>
          <Copyable label={words.onboard.line} text={told.installLine ?? made()} />
          <p class={ui.quiet}>{words.onboard.expires(instantOf(told.expiresAt, clockwork))}</p>
        </>
      )}
      {write.error && <Failure error={write.error} />}
      <div class={ui.row}>
        <Button
          disabled={write.isPending}
          onClick={() =>
            write.mutate({ body: {}, method: 'POST', path: `/nodes/${encodeURIComponent(node.id)}/bootstrap-token` })
          }
        >
          {words.onboard.makeLine}
        </Button>
      </div>
    </>
  )
}

function Stick({ file, made, node }: SetUpProps) {
  const words = useWords()
  const write = useWrite<{ data: SetupFile }>(({ data }) => made(data))
  return (
    <>
      <p>{words.onboard.stickIt}</p>
      {!file && <p class={ui.quiet}>{words.onboard.stickGone}</p>}
      {write.error && <Failure error={write.error} />}
      <div class={ui.row}>
        {file && (
          <Button kind="primary" onClick={() => save(file)}>
            {words.onboard.download(SETUP_FILE)}
          </Button>
        )}
        <Button
          disabled={write.isPending}
          onClick={() =>
            write.mutate({
              body: setupWish(location.origin, { nodeId: node.id }),
              method: 'POST',
              path: '/nodes/bootstrap-config',
            })
          }
        >
          {words.onboard.newFile}
        </Button>
      </div>
    </>
  )
}

function save(file: SetupFile): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(new Blob([JSON.stringify(file, null, 2)], { type: 'application/json' }))
  link.download = SETUP_FILE
  link.click()
  URL.revokeObjectURL(link.href)
}

/** After this one is told what to look at, ms. */
const PATIENCE_MS = 30_000

function Waiting() {
  const words = useWords()
  const [late, setLate] = useState(false)
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), PATIENCE_MS)
    return () => clearTimeout(timer)
  }, [])
  return (
    <div role="status" class={ui.stack}>
      <p>{late ? words.onboard.lookAt : words.onboard.waiting}</p>
      {late && (
        <ul class={ui.rows}>
          {words.onboard.hints.map((hint) => (
            <li key={hint} class={ui.row}>
              {hint}
            </li>
          ))}
        </ul>
      )}
    </div>
  )
}

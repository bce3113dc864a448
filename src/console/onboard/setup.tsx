import { useEffect, useState } from 'preact/hooks'
import { Link, useSearchParams } from 'wouter-preact'
import type { Node } from '../../wire/nodes.ts'
import type { SetupFile } from '../../wire/provision.ts'
import { useWrite } from '../data/reads.ts'
import { download } from '../ui/download.ts'
import { Button, Failure, Section } from '../ui/parts.tsx'
import { Copyable } from '../ui/secret.tsx'
import ui from '../ui/ui.module.css'
import { useWords } from '../words/words.ts'
import { Address, setupWish, usePublicUrl } from './address.tsx'
import { Code } from './code.tsx'
import { type IssueProps, IssueToken } from './issue.tsx'

// Name of the file on the stick (wire/provision.ts, which would bring its schemas along).
const SETUP_FILE = 'roomtone.json'

interface SetUpProps {
  file: SetupFile | undefined
  made(file: SetupFile): void
  node: Node
}

const WAYS = ['type', 'code', 'stick', 'prepared'] as const

/** How the box gets its settings, and the wait for its first word. */
export function SetUp({ file, made, node }: SetUpProps) {
  const words = useWords()
  const [params, setParams] = useSearchParams()
  const way = WAYS.find((one) => one === params.get('way')) ?? 'type'
  const own = usePublicUrl()
  const [address, setAddress] = useState(file?.controllerUrl ?? own)
  if (node.status === 'retired') return <Retired node={node} />
  return (
    <>
      <Section title={words.onboard.how}>
        <div class={ui.row} role="radiogroup" aria-label={words.onboard.how}>
          {WAYS.map((one) => (
            <label key={one} class={ui.button}>
              <input
                type="radio"
                name="way"
                checked={way === one}
                onChange={() => setParams((now) => ({ ...Object.fromEntries(now), way: one }))}
              />
              {words.onboard.ways[one]}
            </label>
          ))}
        </div>
        {way === 'type' && <Line address={address} node={node} />}
        {way === 'code' && <Code address={address} node={node} />}
        {way === 'stick' && (
          <Stick
            address={address}
            // One with another address than the one that is shown leads the box elsewhere.
            file={file?.controllerUrl === address ? file : undefined}
            made={(one) => {
              setAddress(one.controllerUrl)
              made(one)
            }}
            node={node}
          />
        )}
        {way === 'prepared' && <p>{words.onboard.preparedIt}</p>}
        {way !== 'prepared' && <Address value={address} onInput={(e) => setAddress(e.currentTarget.value)} />}
      </Section>
      <Waiting />
    </>
  )
}

/** The line to type. The controller makes it: it knows whether the box needs to be told its key. */
function Line(of: IssueProps) {
  const words = useWords()
  return (
    <>
      <p>{words.onboard.typeIt}</p>
      <IssueToken<{ installLine: string }> {...of} what="bootstrap-token" make={() => words.onboard.makeLine}>
        {({ installLine }) => <Copyable label={words.onboard.line} text={installLine} />}
      </IssueToken>
    </>
  )
}

interface StickProps extends SetUpProps {
  address: string
}

function Stick({ address, file, made, node }: StickProps) {
  const words = useWords()
  const write = useWrite<{ data: SetupFile }>(({ data }) => made(data))
  return (
    <>
      <p>{words.onboard.stickIt}</p>
      <p class={ui.quiet}>{words.onboard.stickNeeds}</p>
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
              body: setupWish(address, { nodeId: node.id }),
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

const save = (file: SetupFile): void => download(SETUP_FILE, JSON.stringify(file, null, 2), 'application/json')

/** Nothing is minted for a recorder that is out of service. */
function Retired({ node }: { node: Node }) {
  const words = useWords()
  return (
    <Section title={words.onboard.how}>
      <p>{words.onboard.retired}</p>
      <Link class={ui.button} href={`/recorders/${encodeURIComponent(node.id)}/maintenance`}>
        {words.recorders.tabs.maintenance}
      </Link>
    </Section>
  )
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

import { useState } from 'preact/hooks'
import type { Node, SshCredential } from '../../wire/nodes.ts'
import { ApiError } from '../data/api.ts'
import { useRead, useWrite } from '../data/reads.ts'
import { When } from '../time/when.tsx'
import { Confirm, Dialog } from '../ui/dialog.tsx'
import { issueText } from '../ui/fault.rules.ts'
import { Area, Form } from '../ui/form.tsx'
import { Button, Facts, Loading, Name, Section } from '../ui/parts.tsx'
import ui from '../ui/ui.module.css'
import { useWords } from '../words/words.ts'

/** How the controller gets onto the box, and how it knows that it is this box. */
export function Keys({ node }: { node: Node }) {
  const words = useWords()
  const path = `/nodes/${encodeURIComponent(node.id)}/ssh-credential`
  const key = useRead<{ data: SshCredential | null }>(path, ['node'])
  const [asking, setAsking] = useState<'hostKeys' | 'renew'>()
  const close = (): void => setAsking(undefined)
  return (
    <Section title={words.recorders.sshKey}>
      <Loading of={key}>
        {({ data }) => (data ? <Held credential={data} /> : <p class={ui.quiet}>{words.recorders.noKey}</p>)}
      </Loading>
      <div class={ui.row}>
        {node.status !== 'retired' && <Button onClick={() => setAsking('renew')}>{words.recorders.renew}</Button>}
        <Button onClick={() => setAsking('hostKeys')}>{words.recorders.editHostKeys}</Button>
      </div>
      {asking === 'renew' && <Renew close={close} path={path} />}
      {asking === 'hostKeys' && <HostKeys close={close} path={path} />}
    </Section>
  )
}

function Renew({ close, path }: { close(): void; path: string }) {
  const words = useWords()
  const write = useWrite(close)
  return (
    <Confirm
      title={words.recorders.renew}
      deed={words.recorders.renew}
      close={close}
      confirm={() => write.mutate({ body: {}, method: 'POST', path: `${path}/rotate` })}
      error={write.error}
      pending={write.isPending}
    >
      <p>{words.recorders.renewExplained}</p>
    </Confirm>
  )
}

function Held({ credential }: { credential: SshCredential }) {
  const words = useWords()
  const { createdAt, fingerprint, hostKeys = [], publicKey, username } = credential
  return (
    <>
      <Facts
        of={[
          [words.recorders.sshUser, <Name key="user">{username}</Name>],
          [words.recorders.sshKey, <code key="print">{fingerprint}</code>],
          [words.recorders.keySince, <When key="since" at={createdAt} />],
          [
            words.recorders.hostKeys,
            hostKeys.length > 0 && (
              <ul key="host">
                {hostKeys.map((one) => (
                  <li key={one.fingerprint}>
                    {one.type} <code>{one.fingerprint}</code>
                  </li>
                ))}
              </ul>
            ),
          ],
        ]}
      />
      {hostKeys.length === 0 && <p class={ui.warn}>{words.recorders.noHostKeys}</p>}
      <details>
        <summary>{words.recorders.publicKey}</summary>
        <pre class={ui.output}>{publicKey}</pre>
      </details>
    </>
  )
}

function HostKeys({ close, path }: { close(): void; path: string }) {
  const words = useWords()
  const write = useWrite(close)
  // Its place in the list is that of no field.
  const issue = write.error instanceof ApiError ? write.error.issues[0] : undefined
  return (
    <Dialog title={words.recorders.editHostKeys} close={close}>
      <Form
        error={write.error}
        pending={write.isPending}
        send={({ hostKeys }) =>
          write.mutate({ body: { hostKeys: linesOf(String(hostKeys)) }, method: 'PUT', path: `${path}/host-keys` })
        }
      >
        <Area
          name="hostKeys"
          empty="text"
          label={words.recorders.hostKeyLines}
          hint={words.recorders.hostKeyHint}
          {...(issue ? { fault: issueText(issue, words) } : {})}
          required
          autocomplete="off"
          spellcheck={false}
        />
      </Form>
    </Dialog>
  )
}

/** Lines that hold something; what was pasted may end in empty ones. */
const linesOf = (text: string): string[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean)

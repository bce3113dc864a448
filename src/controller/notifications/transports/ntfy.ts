// ntfy: one message published as JSON (https://docs.ntfy.sh/publish/#publish-as-json).
import type { NtfyOptions } from '../../../wire/notifications.ts'
import { ntfyFault } from './channel.rules.ts'
import { post } from './receiver.ts'
import { shortText, titleOf, wordsOf } from './render.rules.ts'
import { type Message, type Transport, type TransportBase, TransportError } from './transport.ts'

/** ntfy makes an attachment of what is longer than 4,096 bytes. */
const MOST_BYTES = 3_800
const PRIORITIES = { critical: 5, info: 3, warning: 4 } as const
const DEFAULT_PRIORITY = 3
/** Names of emoji, as ntfy knows them. */
const TAGS = { critical: 'rotating_light', info: 'information_source', warning: 'warning' } as const

/** `secret`: the access token, where the topic needs one. */
export function ntfyTransport(options: NtfyOptions, secret: string | undefined, base: TransportBase): Transport {
  return {
    async send(message, signal) {
      const fault = ntfyFault(options, secret)
      if (fault !== undefined) throw new TransportError(fault)
      const headers: Record<string, string> = secret === undefined ? {} : { authorization: `Bearer ${secret}` }
      const body = JSON.stringify(publication(message, options.topic))
      await post({ body, headers, url: options.url }, base, signal)
      return {}
    },
  }
}

/** The button opens the page that asks once more; a tap alone acknowledges nothing. */
function publication(message: Message, topic: string) {
  const { acknowledgeUrl, conversation, kind, severity, url } = message
  const resolved = kind === 'resolved'
  return {
    actions:
      acknowledgeUrl === undefined
        ? undefined
        : [{ action: 'view', label: wordsOf(message).acknowledge, url: acknowledgeUrl }],
    click: url,
    message: shortText(message, MOST_BYTES),
    priority: resolved ? DEFAULT_PRIORITY : PRIORITIES[severity],
    // Servers before 2.16 do not know it and show a message of its own.
    sequence_id: conversation === undefined ? undefined : sequenceOf(conversation),
    tags: [resolved ? 'white_check_mark' : TAGS[severity]],
    title: titleOf(message),
    topic,
  }
}

/** ntfy refuses other characters, and more than 64. */
const sequenceOf = (conversation: string): string => conversation.replace(/[^\w-]/g, '-').slice(-64)

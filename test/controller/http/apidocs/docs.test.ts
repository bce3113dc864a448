import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { apiPage, type Described } from '../../../../src/controller/http/apidocs/page.rules.ts'
import { written } from '../../../../src/controller/http/apidocs/shapes.rules.ts'
import { DOCUMENT } from '../../../../src/controller/http/headers.ts'
import { mounted } from '../../../../src/controller/http/serve.ts'
import { kit } from '../../../kit/kit.ts'

const k = kit()
after(() => k.close())
const { text } = await k.person('nobody', []).get('/docs')

test('every route is on the page under an id of its own, with its permission and its audit', () => {
  for (const r of k.routes) {
    const id = `<details id="${r.action}.${r.method.toLowerCase()}">`
    assert.equal(text.split(id).length, 2, id)
    const entry = text.slice(text.indexOf(id)).split('</details>')[0] ?? ''
    assert.ok(
      entry.includes(
        mounted(r.path)
          .replace(/:(\w+)/g, '{$1}')
          .replaceAll('/', '/<wbr>'),
      ),
      id,
    )
    assert.equal(entry.includes('permission <code>'), r.permission !== null, id)
    if (r.permission) assert.ok(entry.includes(`permission <code>${r.permission}</code>`), id)
    assert.equal(/<h4>Body/.test(entry), r.body !== undefined || r.upload === true, id)
    assert.match(entry, /<h4>Answer \d{3}/)
  }
})

test('families, types and reasons have an index, and every link on the page leads somewhere', () => {
  const ids = new Set([...text.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id))
  const links = [...text.matchAll(/href="#([^"]+)"/g)].map(([, to]) => to as string)
  assert.ok(links.length > 500)
  assert.deepEqual(
    links.filter((to) => !ids.has(to)),
    [],
  )
  assert.match(text, /<a href="#family-settings-upload-destinations">settings\/upload-destinations<\/a> \d+/)
  assert.match(text, /<td><code>recording_not_found<\/code><\/td><td>404<\/td>/)
})

test('it needs nothing from elsewhere, no script and no style of its own in the page', () => {
  assert.ok(!/<script|<style| style=| on[a-z]+="|https?:\/\//.test(text))
})

test('it is for whom the document is, leaves the same row, and has the headers of the console', async () => {
  const stranger = await k.anonymous.get('/docs')
  assert.deepEqual([stranger.status, stranger.json.error], [401, 'Unauthorized'])
  const browser = await k.anonymous.send('GET', '/docs', undefined, { accept: 'text/html,*/*;q=0.8' })
  assert.equal(browser.status, 401)
  assert.match(browser.text, /<a href="\/">Sign in<\/a>/)
  k.forget()
  const { headers, status } = await k.as('viewer').get('/docs')
  assert.deepEqual([status, headers.get('content-type')], [200, 'text/html; charset=utf-8'])
  assert.equal(headers.get('content-security-policy'), DOCUMENT['content-security-policy'])
  assert.deepEqual(k.trail(), ['docs.read.succeeded succeeded'])
  const style = await k.anonymous.get('/docs.css')
  assert.deepEqual([style.status, style.headers.get('content-type')], [200, 'text/css; charset=utf-8'])
})

test('who takes it compressed gets the same page', async () => {
  const headers = { 'accept-encoding': 'br, gzip', authorization: `Bearer ${k.as('viewer').token}` }
  const answer = await k.app.request('/docs', { headers })
  assert.deepEqual([answer.headers.get('content-encoding'), answer.headers.get('vary')], ['gzip', 'accept-encoding'])
  assert.equal(gunzipSync(await answer.arrayBuffer()).toString(), text)
})

test('what a document says is text, whatever it looks like', () => {
  const evil = '<img src=x onerror=alert(1)>"&'
  const operation = {
    operationId: evil,
    parameters: [{ in: 'query', name: evil, required: false, schema: { description: evil, type: 'string' } }],
    responses: { 200: { content: { 'application/json': { schema: { enum: [evil] } } }, description: evil } },
    security: [{ [evil]: [] }],
    summary: evil,
    'x-permission': evil,
  }
  const described: Described = {
    components: { responses: {}, schemas: {}, securitySchemes: { [evil]: { description: evil } } },
    info: { title: evil, version: evil },
    paths: { [`/${evil}`]: { get: operation } },
    'x-reasons': [{ messages: [evil], parts: [evil], reason: evil, status: evil }],
  }
  const page = [...apiPage(described)].join('')
  assert.ok(!page.includes('<img') && !page.includes('"&"'))
  assert.ok(page.includes('&lt;img src=x onerror=alert(1)&gt;&quot;&amp;'))
})

test('shapes are TypeScript: named types by their names, what a field means behind it', () => {
  const node = { $ref: '#/components/schemas/Node' }
  const schema = {
    properties: {
      nodes: { items: node, type: 'array' },
      seconds: { description: 'So far', minimum: 1, type: 'integer' },
    },
    required: ['nodes'],
    type: 'object',
  }
  assert.equal(written(schema), '{\n  nodes: Node[]\n  seconds?: number // So far; whole, at least 1\n}')
})

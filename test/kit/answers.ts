import type { Page } from 'playwright-core'

/** The answers of the API to one page. */
export class Answers {
  readonly refused: string[] = []
  #open = 0

  constructor(page: Page) {
    const counted = (url: string): boolean => /\/api\/v1\/(?!events|meter-events)/.test(url)
    page.on('request', (request) => counted(request.url()) && this.#open++)
    page.on('requestfailed', (request) => counted(request.url()) && this.#open--)
    page.on('requestfinished', (request) => counted(request.url()) && this.#open--)
    page.on('response', (response) => {
      const status = response.status()
      if (status === 403 || status >= 500)
        this.refused.push(`${status} ${response.request().method()} ${new URL(response.url()).pathname}`)
    })
  }

  /** Nothing is under way, and nothing has begun meanwhile. */
  async settled(page: Page): Promise<void> {
    for (let quiet = 0; quiet < 2; ) {
      await page.evaluate('new Promise((done) => requestAnimationFrame(() => setTimeout(done, 20)))')
      quiet = this.#open > 0 ? 0 : quiet + 1
    }
  }
}

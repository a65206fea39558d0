import { createHash } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { html } from '@plant-shop/platform/html/html';
import { pagePolicy, pageText } from './page.js';

describe('HTML pages of the services', () => {
  const page = pageText({ title: 'Fish & <b>chips</b>', layout: 'card', main: html`<h1>${'"Fish" & <b>chips</b>'}</h1>` });

  it('escape texts', () => {
    expect(page).toContain('<title>Fish &amp; &lt;b&gt;chips&lt;/b&gt; · Plant shop</title>');
    expect(page).toContain('<h1>&quot;Fish&quot; &amp; &lt;b&gt;chips&lt;/b&gt;</h1>');
  });

  it('have a policy that allows exactly their style sheet', () => {
    const [, style = ''] = /<style>([^]*)<\/style>/.exec(page) ?? [];
    expect(pagePolicy()).toContain(`style-src 'sha256-${createHash('sha256').update(style).digest('base64')}';`);
    expect(page).not.toMatch(/ style=|<script|\son\w+=/);
  });

  it('load nothing', () => {
    expect(page.replaceAll('http://www.w3.org/2000/svg', '').replaceAll('http%3A%2F%2Fwww.w3.org%2F2000%2Fsvg', '')).not.toMatch(/https?:|url\(|src=/);
    expect(pagePolicy()).toMatch(/^default-src 'none';.* form-action 'none'; img-src data:; base-uri 'none'; frame-ancestors 'none'$/);
    expect(pagePolicy("'self' https:")).toContain("form-action 'self' https:;");
  });
});

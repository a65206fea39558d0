import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

const shop = process.env['SHOP_URL'] ?? 'http://localhost:8080';

export default defineConfig({
  base: '/console/',
  plugins: [react({ compiler: true }), leaveUnusedStylesOut(), precompress()],
  build: {
    outDir: 'dist/site',
    target: 'es2023',
    emptyOutDir: true,
    // The Content-Security-Policy allows no scripts and styles from data URLs.
    assetsInlineLimit: 0,
    // The polyfill is an inline script, which the Content-Security-Policy refuses.
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 650,
    reportCompressedSize: false,
    // One file for all that the first page needs before its own: split by who else imports it, it would be larger.
    rolldownOptions: { output: { codeSplitting: { groups: [{ name: 'first', tags: ['$initial'] }] } } },
  },
  // Forwards everything else to the running shop.
  server: { host: '127.0.0.1', port: 5173, strictPort: true, proxy: { '^/(v3|oauth|readyz|\\.well-known|console/settings\\.json)': { target: shop, changeOrigin: false } } },
});

/**
 * Leaves the styles of components that the console does not use out: Mantine has one file for all.
 * @returns {import('vite').Plugin}
 */
function leaveUnusedStylesOut() {
  /** The minifier reads it after the chunks are known, and before files have their names. @type {string[]} */
  const unusedSymbols = [];
  return {
    name: 'leave-unused-styles-out',
    apply: 'build',
    config: () => ({ css: { lightningcss: { unusedSymbols } } }),
    renderChunk: {
      order: 'pre',
      handler(_code, _chunk, _options, { chunks }) {
        if (unusedSymbols.length > 0) return;
        const modules = Object.values(chunks).flatMap((chunk) => Object.values(chunk.modules));
        const used = new Set(modules.flatMap(({ code }) => code?.match(/m_[\da-f]+/g) ?? []));
        const styles = ['core', 'notifications', 'charts'].map((one) => readFileSync(new URL(import.meta.resolve(`@mantine/${one}/styles.css`)), 'utf8')).join('');
        // Classes only: nothing but the styles themselves names their animations.
        unusedSymbols.push(...new Set(styles.match(/(?<=\.)m_[\da-f]+/g)?.filter((one) => !used.has(one))));
      },
    },
  };
}

/**
 * Compresses the files at build time; the gateway sends the encoding that the browser accepts.
 * @returns {import('vite').Plugin}
 */
function precompress() {
  return {
    name: 'precompress',
    apply: 'build',
    writeBundle({ dir = '' }) {
      const entries = readdirSync(dir, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
      for (const path of entries.map((entry) => join(entry.parentPath, entry.name))) {
        const content = readFileSync(path);
        if (!['.js', '.css', '.html', '.svg'].includes(extname(path)) || content.length < 1_024) continue;
        writeFileSync(`${path}.br`, brotliCompressSync(content, { params: { [constants.BROTLI_PARAM_QUALITY]: 10 } }));
        writeFileSync(`${path}.gz`, gzipSync(content, { level: 9 }));
      }
    },
  };
}

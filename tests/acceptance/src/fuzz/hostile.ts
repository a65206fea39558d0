// Input of hostile clients. Every answer to it must conform to the OpenAPI document.

const long = (length: number): string => 'x'.repeat(length);

export const hostileStrings: readonly string[] = [
  '', ' ', '\t', '\n', '\r\n', '\u0000', 'a\u0000b', '\u0001\u0002\u001f', '\u007f', '\u0085', '\u2028\u2029', '\ufeff', '\ufffe', '\uffff',
  '\ud800', 'a\udfff', '\udc00\ud800', '😀', '👩‍👩‍👧‍👦', 'e\u0301', '\u202egnp.exe', '\u200b', 'İ', 'ß', 'ﬁ', 'Ａ', '１', '٣', 'нет', '植物', 'ไม้', '\u{10ffff}',
  "' OR '1'='1", "'; DROP TABLE plants; --", '" OR ""="', '1; SELECT pg_sleep(10)--', "\\'; --", '%27', '$1', '$$', '{}', '{1,2}', '{"a', '(', '\\', '\\x00', "E'\\000'",
  '<script>alert(1)</script>', '"><img src=x onerror=alert(1)>', '<!--', ']]>', '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY y SYSTEM "file:///etc/passwd">]>', 'javascript:alert(1)',
  '../../../etc/passwd', '..\\..\\windows\\win.ini', '/etc/passwd', 'file:///etc/passwd', 'C:\\', '/dev/null', 'CON', '.', '..', '~', 'a/b', '%2e%2e%2f', '%00', '%', '%zz', '%c0%ae',
  '${jndi:ldap://127.0.0.1/a}', '{{7*7}}', '#{7*7}', '`id`', '$(id)', '| id', '; id', '&& id', '%n%s%p', '\\u0000',
  '__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty', 'valueOf', 'then', 'null', 'undefined', 'NaN', 'true', 'false', '[object Object]',
  '0', '-0', '-1', '1', '1.0', '1e3', '+1', '01', '0x10', '1_000', '9007199254740991', '9007199254740992', '9223372036854775807', '9223372036854775808', '-9223372036854775809', '1e309', 'Infinity',
  '2026-02-30T00:00:00Z', '2026-01-01', '0000-01-01T00:00:00Z', '9999-12-31T23:59:59.999Z', '+275760-09-13T00:00:00Z', '2026-01-01T00:00:00+99:99', '2026-06-30T23:59:60Z', '-000001-01-01T00:00:00Z', 'now',
  '00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff', 'gggggggg-0000-4000-8000-000000000000',
  ',', ',,,', 'a,b', '*', '"', '"3"', 'W/"3"', '"-1"', '"9007199254740993"', 'bytes=0-', 'login', 'logout', 'createWithList', 'Basic YTpi', 'Bearer',
  long(64), long(65), long(200), long(201), long(1_000), long(1_001), long(2_048), long(2_049), '😀'.repeat(200), 'é'.repeat(201), '\u0000'.repeat(100), long(20_000),
];

/** Values of every JSON type, to replace values of another type. */
export const wrongValues: readonly unknown[] = [
  null, true, false, 0, -0, -1, 1, 1.5, -1.5, 1e-7, 1e21, 1e308, 2 ** 31, 2 ** 32, 2 ** 53, -(2 ** 53), 2 ** 63, '', 'text', '1', [], [null], [[]], [1, 'a', {}], {}, { a: 1 }, { id: 1 }, { length: 3 }, { toJSON: 1 }, { then: 1 },
];

/** Undocumented members that an attacker might try to set. */
export const extraMembers: readonly (readonly [string, unknown])[] = [
  ['constructor', { prototype: { admin: true } }], ['prototype', {}], ['role', 'admin'], ['permissions', ['write:users']], ['isAdmin', true], ['owner', 'admin'], ['userId', '00000000-0000-4000-8000-000000000000'],
  ['version', 99], ['incarnation', 99], ['passwordHash', 'x'], ['ifVersion', 1], ['toString', 'x'], ['hasOwnProperty', 1], ['', 1], ['a\u0000b', 1], ['$ref', '#/x'], ['data', { a: 1 }], ['then', 'x'], ['complete', true], ['free', 1e9],
];

/** Invalid and unusual JSON. */
export const brokenJson: readonly (string | Buffer)[] = [
  '', ' ', '{', '}', '[', ']', '{"a"', '{"a":', '{"a":1', '{"a":1,}', '{a:1}', "{'a':1}", '{"a":1}{"b":2}', '{"a":1} x', '// c\n{}', '/* c */{}', 'null', 'true', '0', '-', '01', '1e', '.5', '+1', 'NaN', 'Infinity', '"', '"\\u00"', '"\\x"', '"\n"',
  '{"a":1e999}', '{"id":1e400}', '{"id":-0}', '{"id":0.1e1}', '{"id":9007199254740993}', `{"id":${'9'.repeat(400)}}`, '{"id":1,"id":2}', '{"name":"a","name":null}',
  '{"__proto__":{"admin":true}}', '{"\\u005f_proto__":1}', '{"name":"\\u0000"}', '{"name":"\\ud800"}', '{"constructor":{"prototype":{}}}', '{"name":{"toString":1}}',
  '['.repeat(17) + ']'.repeat(17), '['.repeat(100_000), '{"a":'.repeat(5_000), '[' + '1,'.repeat(100_000) + '1]', `{"name":"${long(1_100_000)}"}`, '[' + '{},'.repeat(600) + '{}]',
  Buffer.from('\ufeff{}', 'utf8'), Buffer.from('{}', 'utf16le'), Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]), Buffer.from([0xc0, 0x80]), Buffer.from([0xed, 0xa0, 0x80]), Buffer.alloc(1_000), Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0]),
];

export const contentTypes: readonly string[] = [
  '', 'application/json', 'application/json; charset=utf-8', 'application/json; charset=utf-16', 'application/json;', 'application/json, text/plain', 'APPLICATION/JSON', 'application/json2', 'application/merge-patch+json', 'application/problem+json', 'text/json',
  'text/plain', 'text/html', 'application/xml', 'application/x-www-form-urlencoded', 'application/x-www-form-urlencoded; charset=latin1', 'application/x-www-form-urlencodedx', 'multipart/form-data', 'multipart/form-data; boundary=', 'multipart/form-data; boundary="',
  `multipart/form-data; boundary=${long(300)}`, 'multipart/form-data; boundary=b; boundary=c', 'multipart/mixed; boundary=b', 'application/octet-stream', '/', 'a', ';', '*/*', 'application/', '\u00ff', 'application/json\t', long(9_000),
];

/** Headers that the rules of HTTP still allow. */
export const hostileHeaders: readonly (readonly [string, string])[] = [
  ...['"1"', '"0"', '"-1"', '"9007199254740993"', '"', '*', 'W/"1"', '"1", "2"', '""', 'x', '', ',', long(5_000)].flatMap(
    (value) => [['If-Match', value], ['If-None-Match', value], ['If-Range', value]] as const,
  ),
  ...['bytes=0-', 'bytes=-1', 'bytes=5-1', 'bytes=0-0,1-1', 'bytes=', 'bytes=99999999999999999999-', 'bytes=-0', 'bytes=a-b', 'items=0-1', `bytes=${'0-0,'.repeat(2_000)}0-0`].map((value) => ['Range', value] as const),
  ...['', ' ', 'k', long(255), long(256), 'a b', '\u00e9', '"k"', ',', '__proto__', '../x', "'; --"].map((value) => ['Idempotency-Key', value] as const),
  ...['', 'ok-1', long(128), long(129), 'a b', '<script>', '../x', '\u00ff', '${jndi:ldap://127.0.0.1/a}', 'a,b'].map((value) => ['X-Request-Id', value] as const),
  ...['', '*', 'application/xml', 'text/html', ';q=', 'a/b;q=9', long(4_000)].map((value) => ['Accept', value] as const),
  ...['gzip', 'br', 'gzip;q=0, br;q=0, identity;q=0', '*;q=0', 'x', '', 'gzip,,,;;;'].map((value) => ['Accept-Encoding', value] as const),
  ...['gzip', 'br', 'identity', 'x', 'gzip, gzip'].map((value) => ['Content-Encoding', value] as const),
  ...['localhost', 'evil.example', '', '127.0.0.1:99999', 'a b', '[::1', 'evil.example/..', '\u00ff', 'a,b', long(3_000)].map((value) => ['Host', value] as const),
  ...['127.0.0.1', '::1', 'x', '1.2.3.4, 5.6.7.8', '', long(4_000)].flatMap((value) => [['X-Forwarded-For', value], ['X-Real-IP', value]] as const),
  ...['DELETE', 'GET', 'x'].flatMap((value) => [['X-HTTP-Method-Override', value], ['X-HTTP-Method', value]] as const),
  ...['/v3/plant', '/oauth/token'].flatMap((value) => [['X-Original-URL', value], ['X-Rewrite-URL', value]] as const),
  ...['null', 'https://evil.example', '*', 'x'].map((value) => ['Origin', value] as const),
  ...['POST', 'x', ''].map((value) => ['Access-Control-Request-Method', value] as const),
  ...['100-continue', 'x', ''].map((value) => ['Expect', value] as const),
  ...['websocket', 'h2c', 'TLS/1.0', ''].flatMap((value) => [['Upgrade', value]] as const),
  ...['keep-alive', 'close', 'Upgrade', 'Authorization', 'Content-Length', 'x, y, z', ''].map((value) => ['Connection', value] as const),
  ...['a=b', '=', long(4_000), '__proto__=1'].map((value) => ['Cookie', value] as const),
  ...['x', '00-00000000000000000000000000000000-0000000000000000-00', '00-ffffffffffffffffffffffffffffffff-ffffffffffffffff-01', long(1_000)].map((value) => ['traceparent', value] as const),
  ...['X-Forwarded-Host', 'X-Forwarded-Proto', 'Forwarded', 'Referer', 'User-Agent', 'Via', 'TE', 'Trailer', 'Date', 'Max-Forwards', 'Prefer'].flatMap((name) => [[name, ''], [name, "x'\"<>\\"], [name, long(2_000)]] as const),
  ['__proto__', 'x'], ['constructor', 'x'], ['toString', 'x'], ['X-A', long(17_000)],
];

/** Headers with broken framing, which a proxy and a server might interpret differently. */
export const brokenFraming: readonly (readonly (readonly [string, string])[])[] = [
  [['Content-Length', '-1']], [['Content-Length', 'x']], [['Content-Length', '1e1']], [['Content-Length', '+1']], [['Content-Length', '0x1']], [['Content-Length', '']], [['Content-Length', '99999999999999999999']],
  [['Content-Length', '5'], ['Content-Length', '6']], [['Content-Length', '5, 6']], [['Content-Length', '0'], ['Transfer-Encoding', 'chunked']],
  [['Transfer-Encoding', 'chunked'], ['Content-Length', '5']], [['Transfer-Encoding', 'x']], [['Transfer-Encoding', 'chunked, x']], [['Transfer-Encoding', 'identity']], [['Transfer-Encoding', ' chunked']], [['Transfer-Encoding', 'chunked'], ['Transfer-Encoding', 'chunked']],
  [['Content-Length', '0']], [[' Content-Length', '3']], [['Content-Length ', '3']], [['A\u0000', 'x']], [['A', 'x\u0000y']], [['A', 'x\r\n B: y']], [['A', 'x\nContent-Length: 3']], [['A', 'x\ry']], [['A B', 'x']], [['', 'x']], [['A', '\u007f']], [['(', 'x']],
];

/** Variants of a path. */
export const pathChanges = (path: string): string[] => [
  `${path}/`, `/${path}`, path.replace('/v3/', '/v3//'), path.replace('/v3/', '/./v3/'), path.replace('/v3/', '/x/../v3/'), path.replace('/v3/', '/v3/%2e/'), path.replace('/v3/', '/v3%2F'),
  path.toUpperCase(), path.replace('/v3', '/V3'), path.replace('/v3', '/%763'), path.replace('/v3', '/v2'), path.replace('/v3', ''), `${path}/..`, `${path}/.`, `${path}%2f`, `${path}%00`,
  `${path}%20`, `${path};a=b`, `${path}.json`, `${path}%`, `${path}%zz`, `${path}%c0%ae`, `${path}%ed%a0%80`, `${path}\\`, `${path}#x`, `${path}?`, `${path}??a`,
  `http://evil.example${path}`, `https://evil.example:99999${path}`, `http://${path}`, `ftp://x${path}`, `//evil.example${path}`, path.slice(1), '*', '', '/', 'x', '/v3', '/v3/',
  `${path}/${long(3_000)}`, `${path}/${long(17_000)}`, `${path}/${'a/'.repeat(1_000)}`, path.replaceAll('/', '\\'), `${path}\u00ff`, `${path}\t`, `${path} HTTP/1.1\r\nX: y`, `${path}/__proto__`, `${path}/constructor`,
];

export const queryTexts: readonly string[] = [
  '', '?', '=', '&', '&&&', 'a', 'a=', '=a', 'a=b=c', '%', '%zz=1', 'a=%', 'a=%zz', 'a=%ff', 'a=%00', '%00=1', 'a[]=1', 'a[b]=1', 'a[__proto__][x]=1', '__proto__=1', '__proto__[x]=1', 'constructor=1', 'toString=1',
  'limit=0', 'limit=-1', 'limit=1001', 'limit=1', 'limit=1e3', 'limit=', 'limit=1&limit=2', 'limit=99999999999', 'limit=%31', 'cursor=', 'cursor=x', 'cursor=%00', 'cursor=-1', `cursor=${long(2_000)}`, 'cursor=eyJpZCI6MX0', 'cursor=1&cursor=2',
  'status=', 'status=available', 'status=available,sold', 'status=available&status=pending', 'status=Available', 'status=available,', 'status=,', 'status=x', 'status=placed', 'status=%00', 'status[]=available', 'status=__proto__',
  'tags=', 'tags=a', 'tags=a,b', 'tags=,', `tags=${'a,'.repeat(500)}a`, `tags=${long(2_000)}`, 'tags=%00', 'tags=%ED%A0%80', 'tags=%F0%9F%98%80', 'username=a&username=b&password=c', 'username=a', 'password=b', 'username=&password=', 'username=a&password=b&x=1',
  'username=%00&password=%00', 'username=admin&password=%27', `username=${long(2_000)}&password=x`, `username=a&password=${long(5_000)}`, 'api_key=special-key', 'access_token=x', 'session_token=x', `a=${long(17_000)}`, 'a=1&'.repeat(1_000), '\u00ff', ' ', 'a b', 'a=\t', '<script>',
];

export const otherMethods: readonly string[] = [
  'GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'TRACE', 'PROPFIND', 'PURGE', 'QUERY', 'LINK', 'get', 'Get', 'FOO', 'G ET', '', '\u00ff', 'GET\u0000', long(300),
];

// An OpenID Connect issuer for tests: node issuer.mjs PORT [oauth], 0 for a free one. With `oauth` it has the
// configuration of OAuth (RFC 8414) alone.
//
// Prints its address when it answers. Its keys are new with each start. Clients are called NAME.ALG (`anna.RS256`), have
// the secret `secret`, and get tokens by client credentials for any resource, signed by ALG, with the groups that GROUPS
// says of NAME. A client registers itself (RFC 7591) and has people log in: whoever comes is `anna`, and agrees.
// POST /forge signs what an issuer would not: {header, claims, key}, where `key` is `own`, `other`, `public` (the public
// key as a secret) or `none`.

import { createHmac, createPublicKey, generateKeyPairSync, randomUUID, sign } from 'node:crypto';
import { createServer } from 'node:http';
import Provider from 'oidc-provider';

const GROUPS = {
    anna: ['staff', 'atlas-writers'],
    bert: ['staff', 'atlas-readers'],
    owner: ['atlas-readers', 'atlas-owners', 'atlas-writers'],
    carla: ['staff'],
    dora: [],
};

const KINDS = {
    RS256: () => generateKeyPairSync('rsa', { modulusLength: 2048 }),
    PS256: () => generateKeyPairSync('rsa', { modulusLength: 2048 }),
    ES256: () => generateKeyPairSync('ec', { namedCurve: 'P-256' }),
    EdDSA: () => generateKeyPairSync('ed25519'),
};
const keys = Object.fromEntries(Object.entries(KINDS).map(([alg, make]) => [alg, make().privateKey]));
const kids = Object.fromEntries(Object.keys(KINDS).map((alg) => [alg, `${alg}-${randomUUID()}`]));
const jwks = Object.keys(KINDS).map((alg) => ({
    ...keys[alg].export({ format: 'jwk' }), kid: kids[alg], alg, use: 'sig',
}));

const clients = Object.keys(GROUPS).flatMap((name) => Object.keys(KINDS).map((alg) => ({
    client_id: `${name}.${alg}`,
    client_secret: 'secret',
    token_endpoint_auth_method: 'client_secret_post',
    grant_types: ['client_credentials'],
    redirect_uris: [],
    response_types: [],
})));

const server = createServer();
await new Promise((listening) => server.listen(Number(process.argv[2] ?? 0), '127.0.0.1', listening));
const issuer = `http://127.0.0.1:${server.address().port}`;

const provider = new Provider(issuer, {
    clients,
    jwks: { keys: jwks },
    enabledJWA: { idTokenSigningAlgValues: Object.keys(KINDS) },
    features: {
        clientCredentials: { enabled: true },
        devInteractions: { enabled: false },
        registration: { enabled: true },
        resourceIndicators: {
            enabled: true,
            useGrantedResource: () => true,
            getResourceServerInfo: (ctx, resource, client) => ({
                scope: '',
                audience: resource,
                accessTokenFormat: 'jwt',
                accessTokenTTL: 600,
                jwt: { sign: { alg: client.clientId.split('.')[1] ?? 'RS256' } },
            }),
        },
    },
    // A client in a browser asks from a page of its own.
    clientBasedCORS: () => true,
    extraTokenClaims: (ctx, token) => ({ groups: GROUPS[token.accountId ?? token.clientId.split('.')[0]] }),
    findAccount: (ctx, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
    interactions: { url: (ctx, interaction) => `/interaction/${interaction.uid}` },
    cookies: { keys: [randomUUID()] },
});

// Whoever is asked to log in or to agree has done so.
async function interact(request, response) {
    const { prompt, params } = await provider.interactionDetails(request, response);
    const grant = new provider.Grant({ accountId: 'anna', clientId: params.client_id });
    grant.addOIDCScope('openid');
    const result = { login: { accountId: 'anna' } };
    if (prompt.name === 'consent') {
        result.consent = { grantId: await grant.save() };
    }
    await provider.interactionFinished(request, response, result);
}

async function forge(request, response) {
    const chunks = [];
    for await (const chunk of request) {
        chunks.push(chunk);
    }
    const { header, claims, key } = JSON.parse(Buffer.concat(chunks).toString());
    const alg = header.alg in keys ? header.alg : 'RS256';
    const part = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const now = Math.floor(Date.now() / 1000);
    const usual = { iss: issuer, sub: 'anna', iat: now, exp: now + 600, groups: GROUPS.owner };
    const body = `${part({ kid: kids[alg], typ: 'at+jwt', ...header })}.${part({ ...usual, ...claims })}`;
    const pem = createPublicKey(keys[alg]).export({ format: 'pem', type: 'spki' });
    const signatures = {
        none: () => '',
        own: () => sign('sha256', Buffer.from(body), { key: keys[alg], dsaEncoding: 'ieee-p1363' }).toString('base64url'),
        other: () => sign('sha256', Buffer.from(body), KINDS[alg]().privateKey).toString('base64url'),
        public: () => createHmac('sha256', pem).update(body).digest('base64url'),
    };
    response.end(`${body}.${signatures[key]()}`);
}

const answer = provider.callback();
const hidden = process.argv[3] === 'oauth' ? '/.well-known/openid-configuration' : undefined;
server.on('request', (request, response) => {
    if (request.url === hidden) {
        response.statusCode = 404;
        return response.end();
    }
    const own = { '/forge': forge, '/interaction': interact }[/^\/[^/]*/.exec(request.url)[0]];
    if (!own) {
        return answer(request, response);
    }
    return own(request, response).catch((error) => {
        response.statusCode = 500;
        response.end(String(error.stack));
    });
});
console.log(issuer);

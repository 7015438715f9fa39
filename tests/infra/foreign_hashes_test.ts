import assert from "node:assert/strict";
import { pbkdf2Sync } from "node:crypto";
import { isAcceptedHash, needsRehash, verifyPassword } from "../../infra/passwords.ts";

const HORSE = "correct horse battery";
const MINE = "my password";
/** Hashes by the systems themselves. */
const MADE_ELSEWHERE: Record<string, [password: string, hash: string][]> = {
  // A million rounds as in `foreign_hashes_deep.ts` take half a second.
  "Django's format": (["sha256", "sha1"] as const).map((digest) => {
    const bytes = digest === "sha1" ? 20 : 32;
    const hash = pbkdf2Sync("lètmein", "seasalt", 1000, bytes, digest).toString("base64");
    return ["lètmein", `pbkdf2_${digest}$1000$seasalt$${hash}`];
  }),
  "Django 5.2": [
    [
      "lètmein",
      "scrypt$16384$seasalt$8$5$ECMIUp+LMxMSK8xB/IVyba+KYGTI7FTnet025q/1f/vBAVnnP3hdYqJuRi+mJn6ji6ze3Fbb7JEFPKGpuEf5vw==",
    ],
  ],
  "passlib 1.7.4": [
    [HORSE, "$pbkdf2$20000$opTSWislZMz5v5dy7r3XGg$AfBVCxG5Dd2J6QVkIcP8P.Q1NI0"],
    [HORSE, "$pbkdf2-sha256$20000$/J9zrjVGKKXUujfGOOdcKw$rDS6I0DOFDWuCXYCgs/dKCGhO22b5pf.RT5QgLGc4Mk"],
    [
      HORSE,
      "$pbkdf2-sha512$20000$MoZwbm2tVer9/x9jrPV.jw$.kFg82MsIAW8siK3XqR2.T8hptV0a8TrMwCc4Cdo7hNBP3yTPH7ALFJwYCQ5qM5OQjhm89Bn/eTy5kfGL5accA",
    ],
    [HORSE, "$scrypt$ln=14,r=8,p=1$GyNESMm5l9L6v9cag1Cq9Q$xZp8egdtVhXOqQ0XaqMgwu+iIV4r6BJUDOnUjc69vik"],
    [HORSE, "$scrypt$ln=12,r=8,p=2$5ZwTYsz5n9O6l/Jea20tZQ$2JDYIsZtW+9HxPuJ3MHYA+4o++KwdqGSt2CErfUD7No"],
  ],
  "PHC with i=, the hash of passlib": [
    [HORSE, "$pbkdf2-sha256$i=20000,l=32$/J9zrjVGKKXUujfGOOdcKw$rDS6I0DOFDWuCXYCgs/dKCGhO22b5pf+RT5QgLGc4Mk"],
  ],
  "ASP.NET Core's test vectors": [
    [MINE, "AQAAAAAAAAD6AAAAEAhftMyfTJylOlZT+eEotFXd1elee8ih5WsjXaR3PA9M"],
    [
      MINE,
      "AQAAAAEAA9CQAAAAIESkQuj2Du8Y+kbc5lcN/W/3NiAZFEm11P27nrSN5/tId+bR1SwV8CO1Jd72r4C08OLvplNlCDc3oQZ8efcW+jQ=",
    ],
    [MINE, "AQAAAAIAAAAyAAAAEOMwvh3+FZxqkdMBz2ekgGhwQ4B6pZWND6zgESBuWiHw"],
    [
      MINE,
      "AQAAAAIAAAD6AAAAIJbVi5wbMR+htSfFp8fTw8N8GOS/Sje+S/4YZcgBfU7EQuqv4OkVYmc4VJl9AGZzmRTxSkP7LtVi9IWyUxX8IAAfZ8v+ZfhjCcudtC1YERSqE1OEdXLW9VukPuJWBBjLuw==",
    ],
    [MINE, "AQAAAAIAAYagAAAAEAABAgMEBQYHCAkKCwwNDg/Q8A0WMKbtHQJQ2DHCdoEeeFBrgNlldq6vH4qX/CGqGQ=="],
  ],
  "Firebase's published vector": [
    [
      "user1password",
      "$firebase-scrypt$r=8,m=14,ss=Bw==,sk=jxspr8Ki0RYycVU8zykbdLGjFQ3McFUH0uiiTvC8pVMXAn210wjLNmdZJzxUECKbm0QsEmYUSDzZvpjeJ9WmXA==$42xEC+ixf3L2lw==$lSrfV15cpx95/sZS2W9c9Kp6i/LVgQNDNC/qzrCnh1SAyZvqmZqAjTdn3aoItz+VHjoZilo78198JAdRuid5lQ==",
    ],
  ],
};

Deno.test("hashes of other systems are accepted, verified and due for renewal", async () => {
  for (const made of Object.values(MADE_ELSEWHERE)) {
    for (const [password, hash] of made) {
      assert.ok(isAcceptedHash(hash) && needsRehash(hash), hash);
      assert.equal(await verifyPassword(hash, password), true, hash);
    }
    const [password, hash = ""] = made[0] ?? [];
    assert.equal(await verifyPassword(hash, `${password}x`), false);
  }
});

/** ASP.NET Identity 3: marker, digest, rounds, salt length, salt and hash. */
function aspNet(digest: number, rounds: number, saltLength: number, bytes = 48): string {
  const text = new Uint8Array(13 + bytes);
  const view = new DataView(text.buffer);
  view.setUint8(0, 1);
  [digest, rounds, saltLength].forEach((value, index) => view.setUint32(1 + 4 * index, value));
  return btoa(String.fromCharCode(...text));
}

Deno.test("hashes over 256 MiB or 2,000,000 rounds are refused, those at the limit are not", () => {
  const hash = "A".repeat(43);
  const at = [
    `$scrypt$ln=18,r=8,p=1$c2FsdA$${hash}`,
    `scrypt$262144$salt$8$1$${hash}=`,
    `$pbkdf2-sha256$i=2000000$c2FsdA$${hash}`,
    `pbkdf2_sha256$2000000$salt$${hash}=`,
    aspNet(1, 2_000_000, 16),
  ];
  for (const text of at) assert.ok(isAcceptedHash(text), text);
  const over = [
    `$scrypt$ln=19,r=8,p=1$c2FsdA$${hash}`,
    `$scrypt$ln=18,r=9,p=1$c2FsdA$${hash}`,
    `$scrypt$ln=99,r=8,p=1$c2FsdA$${hash}`,
    `$scrypt$ln=10,r=8,p=17$c2FsdA$${hash}`,
    `scrypt$524288$salt$8$1$${hash}=`,
    `$firebase-scrypt$r=8,m=19,ss=Bw==,sk=${hash}=$c2FsdA==$${hash}=`,
    `$pbkdf2-sha256$i=2000001$c2FsdA$${hash}`,
    `$pbkdf2$1000001$c2FsdA$${hash}`, // 32 bytes are two blocks of SHA-1, so twice the rounds
    `pbkdf2_sha256$2000001$salt$${hash}=`,
    aspNet(1, 2_000_001, 16),
    aspNet(1, 2 ** 32 - 1, 16),
  ];
  for (const text of over) assert.ok(!isAcceptedHash(text), text);
});

Deno.test("hashes that take longer than common parameters need are refused", () => {
  const argon2 = (parameters: string) =>
    `$argon2id$v=19$${parameters}$c29tZXNhbHRzb21lc2FsdA$${"A".repeat(43)}`;
  const bcrypt = (cost: number) => `$2b$${cost}$${"A".repeat(53)}`;
  const scrypt = (ln: number, p: number) => `$scrypt$ln=${ln},r=8,p=${p}$c2FsdA$${"A".repeat(43)}`;
  const usual = [
    ...["m=47104,t=1,p=1", "m=19456,t=2,p=1", "m=12288,t=3,p=1", "m=9216,t=4,p=1", "m=7168,t=5,p=1"], // OWASP
    ...["m=65536,t=3,p=4", "m=65536,t=4,p=1", "m=102400,t=2,p=8", "m=16384,t=2,p=1", "m=4096,t=3,p=1"], // libraries
    ...["m=65536,t=2,p=1", "m=262144,t=2,p=1", "m=262144,t=3,p=1", "m=65536,t=12,p=1", "m=39321,t=20,p=1"],
  ].map(argon2);
  const accepted = [
    ...usual,
    ...[4, 10, 12, 14].map((cost) => bcrypt(cost).replace("$4$", "$04$")),
    ...[[17, 1], [16, 2], [15, 3], [14, 5], [13, 10], [18, 1], [14, 16]].map(([ln = 0, p = 0]) =>
      scrypt(ln, p)
    ),
  ];
  for (const text of accepted) assert.ok(isAcceptedHash(text), text);
  const refused = [
    ...["m=262144,t=20,p=1", "m=262144,t=4,p=1", "m=65536,t=13,p=4", "m=39322,t=20,p=1", "m=8,t=21,p=1"].map(
      argon2,
    ),
    ...[15, 16, 31].map(bcrypt),
    ...[[18, 2], [15, 9], [18, 16]].map(([ln = 0, p = 0]) => scrypt(ln, p)),
  ];
  for (const text of refused) assert.ok(!isAcceptedHash(text), text);
});

Deno.test("malformed hashes are refused", () => {
  const hash = "A".repeat(43);
  const malformed = [
    "",
    "plain text",
    "scrypt",
    `$scrypt$ln=0,r=8,p=1$c2FsdA$${hash}`,
    `$scrypt$ln=14,r=0,p=1$c2FsdA$${hash}`,
    `$scrypt$ln=14,r=8,p=0$c2FsdA$${hash}`,
    `$scrypt$ln=14,r=8,p=1$c2FsdA$AAAA`, // a hash of 3 bytes could be guessed
    `$scrypt$ln=14,r=8,p=1$c2FsdA$${"A".repeat(200)}`,
    `$scrypt$ln=14,r=8,p=1$c2F\u0000dA$${hash}`,
    `$scrypt$ln=14,r=8,p=1$${"A".repeat(400)}$${hash}`,
    `scrypt$16383$salt$8$1$${hash}=`,
    `$pbkdf2-md5$1000$c2FsdA$${hash}`,
    `$pbkdf2-sha256$0$c2FsdA$${hash}`,
    `$pbkdf2-sha256$1000$c2FsdA$`,
    `$pbkdf2-sha256$1000$c2FsdA$${hash}A$`,
    `pbkdf2_sha256$-5$salt$${hash}=`,
    `$firebase-scrypt$r=8,m=14,ss=Bw==$c2FsdA==$${hash}=`,
    `$firebase-scrypt$r=8,m=14,ss=Bw==,sk=AA==$c2FsdA==$${hash}=`,
    `$firebase-scrypt$r=8,m=14,ss=Bw==,sk=${hash}=,x=1$c2FsdA==$${hash}=`,
    aspNet(3, 1000, 16),
    aspNet(1, 0, 16),
    aspNet(1, 1000, 2 ** 32 - 1),
    aspNet(1, 1000, 48),
    "AQAAAAEAACcQAAAAEA==",
    "AAABAgMEBQYHCAkKCwwNDg+ukCEMDf0yyQ29NYubggHIVY0sdEUfdyeM+E1LtH1uJg==", // ASP.NET Identity 2
  ];
  for (const text of malformed) assert.ok(!isAcceptedHash(text), text);
});

/** The hash of `imported password`. */
export const BCRYPT = "$2y$10$YRlTrbvb0Ol0QEMGgMsv/.r8ZO0DC/SvB/USBoJvcD0IqY4GlrA2i";

/** Hashes of accepted and of other formats, as systems store them. */
export const HASHES = [
  BCRYPT,
  "$argon2id$v=19$m=65536,t=3,p=4$c29tZXNhbHRzb21lc2FsdA$RdescudvJCsgt3ub+b8dWRWJTmaaJObGWrGyNh5vXmw",
  "pbkdf2_sha256$870000$fb7BqYKJbMTUYnW9mVCBkM$bV2ClHWFj8ZnRQ3JFAIQeQKvHgFAX4ZCfPJzH5iXvbQ=",
  "scrypt:32768:8:1$jCdsKUyHWYwkzlZT$0fb2a1",
  "$P$B55D6LjfHDkINU5wF.v2BuuzO0/XPk/",
  "$6$saltsalt$qFmFH.bQmmtXzyBY0s9v7Oicd2z4XSIecDzlB5KiA2",
  "{SSHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g5ZmQ=",
  "5f4dcc3b5aa765d61d8327deb882cf99",
  "2470C0C06DEE42FD1618BB99005ADCA2EC9D1E19",
  "AAABAgMEBQYHCAkKCwwNDg+ukCEMDf0yyQ29NYubggHIVY0sdEUfdyeM+E1LtH1uJg==",
];

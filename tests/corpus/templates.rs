//! Templates of source code for each language of the invented projects.

pub(crate) const RUST_HEAD: &str =
    "//! %S\n\nuse crate::%i::{%P, %P};\nuse %x::%P;\nuse std::collections::HashMap;\n\n";

pub(crate) const RUST: &[&str] = &[
    "/// %S\npub fn %i(%i: &%P, limit: usize) -> Result<Vec<%P>> {\n    let mut out = Vec::with_capacity(%n);\n    for %L in %i.iter().take(limit) {\n        if %L.%i() {\n            continue;\n        }\n        out.push(%i(%L)?);\n    }\n    Ok(out)\n}\n\n",
    "impl %P {\n    /// %S\n    pub fn %i(&self) -> Option<&%P> {\n        self.%i.get(&self.%i).filter(|%L| %L.%i > %n)\n    }\n\n    fn %i(&mut self, %i: %P) {\n        self.%i += %i.%i;\n        // %S\n        self.%i.insert(%i.%i, %i);\n    }\n}\n\n",
    "#[derive(Debug, Clone, PartialEq)]\npub struct %P {\n    /// %S\n    pub %i: %P,\n    pub %i: u64,\n    %i: Vec<%P>,\n    %i: Option<String>,\n}\n\n",
    "#[test]\nfn %i_%z_%i() {\n    let %i = %P::new(\"%k\", %n);\n    let got = %i.%i(&%P::default());\n    assert_eq!(got.len(), %n, \"%s\");\n    assert!(got.iter().all(|%L| %L.%i.is_some()));\n}\n\n",
    "fn %i(%i: &str) -> Result<%P> {\n    match %i.split_once('=') {\n        Some((\"%k\", rest)) => rest.parse().map(%P::%P).context(\"%s\"),\n        Some((\"%i\", _)) => Err(%P::%P.into()),\n        _ => bail!(\"%a %o: {%i}\"),\n    }\n}\n\n",
    "#[derive(Debug, thiserror::Error)]\npub enum %P {\n    #[error(\"%s\")]\n    %P,\n    #[error(\"%a %o: {0}\")]\n    %P(String),\n    #[error(transparent)]\n    %P(#[from] %x::Error),\n}\n\n",
    "const %K: usize = %N;\nconst %K: &str = \"%k\";\n\n",
    "/// %S\n///\n/// %S\npub async fn %i(pool: &%P, %i: u64) -> Result<%P> {\n    let row = query!(\"select %i, %i from %i where %i = $1\", %i as i64)\n        .fetch_one(pool)\n        .await\n        .with_context(|| format!(\"%s {%i}\"))?;\n    debug!(%i, \"%g %t\");\n    Ok(%P { %i: row.%i, %i: row.%i })\n}\n\n",
];

pub(crate) const TYPESCRIPT_HEAD: &str =
    "// %S\nimport { %c, type %P } from '../%k';\nimport { %P } from '@%x/%k';\nimport %c from './%k';\n\n";

pub(crate) const TYPESCRIPT: &[&str] = &[
    "/** %S */\nexport async function %c(%c: %P, limit = %n): Promise<%P[]> {\n  const rows = await %c.%c({ %c: limit, %c: '%k' });\n  if (!rows.length) {\n    throw new %P(`%s ${%c.%c}`);\n  }\n  return rows.map((%L) => ({ ...%L, %c: %c(%L.%c) }));\n}\n\n",
    "export interface %P {\n  %c: string;\n  %c?: %P;\n  /** %S */\n  %c: Record<string, %P>;\n  %c: number[];\n}\n\n",
    "export function %P({ %c, %c }: %PProps) {\n  const [%c, set%P] = useState<%P | null>(null);\n  useEffect(() => {\n    // %S\n    void %c(%c).then(set%P);\n  }, [%c]);\n  return (\n    <section className=\"%k\" data-testid=\"%k\">\n      <h2>%w %w %w</h2>\n      {%c?.map((%L) => <%P key={%L.%c} %c={%L} />)}\n    </section>\n  );\n}\n\n",
    "describe('%c', () => {\n  it('%z the %a %o', async () => {\n    const %c = create%P({ %c: %n });\n    const got = await %c(%c);\n    expect(got.%c).toEqual('%k');\n    expect(got.%c).toHaveLength(%n);\n  });\n\n  it('%z %t when %s', () => {\n    expect(() => %c(null)).toThrow('%a %o');\n  });\n});\n\n",
    "export class %P {\n  private readonly %c = new Map<string, %P>();\n\n  constructor(private readonly %c: %P, private %c = %n) {}\n\n  /** %S */\n  %c(%c: string): %P | undefined {\n    const found = this.%c.get(%c);\n    if (found && found.%c > this.%c) {\n      this.%c.delete(%c);\n      return undefined;\n    }\n    return found;\n  }\n}\n\n",
    "export const %K = %N;\nexport const %c = ['%k', '%k', '%k'] as const;\n\n",
    "router.post('/%k/:%c', %c, async (req, res) => {\n  const %c = %c.parse(req.body);\n  // %S\n  const %c = await %c(%c, req.params.%c);\n  res.status(%n).json({ %c, %c: %c.%c });\n});\n\n",
    ".%k {\n  display: grid;\n  gap: %npx;\n  color: #%h;\n}\n\n",
];

pub(crate) const PYTHON_HEAD: &str = "\"\"\"%S\"\"\"\n\nfrom __future__ import annotations\n\nimport %x\nfrom %i.%i import %P, %i\n\nlogger = logging.getLogger(__name__)\n\n\n";

pub(crate) const PYTHON: &[&str] = &[
    "def %i(%i: %P, limit: int = %n) -> list[%P]:\n    \"\"\"%S\n\n    %S\n    \"\"\"\n    out = []\n    for %L in %i.%i(limit=limit):\n        if not %L.%i:\n            logger.warning(\"%s: %%s\", %L)\n            continue\n        out.append(%i(%L, %i=%L.%i))\n    return out\n\n\n",
    "@dataclass\nclass %P:\n    \"\"\"%S\"\"\"\n\n    %i: str\n    %i: int = %n\n    %i: dict[str, %P] = field(default_factory=dict)\n\n    def %i(self) -> bool:\n        return self.%i > %n and not self.%i\n\n\n",
    "def test_%i_%z_%t(tmp_path):\n    %i = %P(%i=\"%k\", %i=%n)\n    result = %i(%i)\n    assert result.%i == %n\n    assert \"%t\" in result.%i, \"%s\"\n\n\n",
    "async def %i(session: %P, %i: str) -> %P | None:\n    # %S\n    async with session.get(f\"/%k/{%i}\", timeout=%n) as response:\n        if response.status == %n:\n            raise %PError(\"%a %o\")\n        payload = await response.json()\n    return %P(**payload[\"%i\"]) if payload.get(\"%i\") else None\n\n\n",
    "%K = %N\n%K = {\"%k\": %n, \"%k\": %n, \"%i\": \"%h\"}\n\n\n",
    "class %PError(Exception):\n    \"\"\"%S\"\"\"\n\n    def __init__(self, %i: str, *, %i: int | None = None) -> None:\n        super().__init__(f\"%s {%i}\")\n        self.%i = %i\n\n\n",
    "@pytest.fixture\ndef %i(%i):\n    with %P(%i, %i=%n) as %L:\n        %L.%i()\n        yield %L\n\n\n",
];

pub(crate) const GO_HEAD: &str = "// Package %t: %S\npackage %t\n\nimport (\n\t\"context\"\n\t\"fmt\"\n\n\t\"example.com/%k/%t\"\n\t\"github.com/%x/%x\"\n)\n\n";

pub(crate) const GO: &[&str] = &[
    "// %P: %S\nfunc (%L *%P) %P(ctx context.Context, %c string) ([]%P, error) {\n\trows, err := %L.%c.%P(ctx, %c, %n)\n\tif err != nil {\n\t\treturn nil, fmt.Errorf(\"%s: %%w\", err)\n\t}\n\tfor _, row := range rows {\n\t\t%L.%c[row.%P] = row\n\t}\n\treturn rows, nil\n}\n\n",
    "type %P struct {\n\t// %S\n\t%P string `json:\"%i\"`\n\t%P int64 `json:\"%i,omitempty\"`\n\t%c map[string]*%P\n}\n\n",
    "func Test%P(t *testing.T) {\n\tcases := []struct{ name, want string }{\n\t\t{\"%s\", \"%k\"},\n\t\t{\"%a %o\", \"%k\"},\n\t}\n\tfor _, tc := range cases {\n\t\tif got := %c(tc.name); got != tc.want {\n\t\t\tt.Errorf(\"%c(%%q) = %%q, want %%q\", tc.name, got, tc.want)\n\t\t}\n\t}\n}\n\n",
    "const %c = %N\n\nvar %c = errors.New(\"%a %o\")\n\n",
];

/// Lines that an edit inserts: one list for each language, in the order of `Code::ALL`.
pub(crate) const INSERTS: [&[&str]; 4] = [
    &[
        "    let %i = %i.%i().unwrap_or_default();\n",
        "    // %S\n",
        "    debug!(%i, \"%s\");\n",
        "    if %i.%i > %n {\n        return Err(%P::%P);\n    }\n",
    ],
    &["  const %c = %c?.%c ?? %n;\n", "  // %S\n", "  if (!%c.%c) return null;\n", "  console.warn(`%s ${%c}`);\n"],
    &[
        "    %i = %i.get(\"%i\", %n)\n",
        "    # %S\n",
        "    if %i is None:\n        raise %PError(\"%a %o\")\n",
        "    logger.info(\"%s\", extra={\"%i\": %i})\n",
    ],
    &[
        "\tif %c == nil {\n\t\treturn nil, Err%P\n\t}\n",
        "\t// %S\n",
        "\tlog.Printf(\"%s: %%v\", %c)\n",
        "\t%c := %c.%P(ctx)\n",
    ],
];

/// Settings of a project, in YAML.
pub(crate) const YAML: &[&str] = &[
    "%k:\n  %i: %n\n  %i: \"%k\"\n  enabled: true\n\n",
    "# %S\n%k:\n  - name: %w %w\n    run: %k --%k\n  - uses: %x/%k@v%n\n\n",
    "%k:\n  image: %x:%V\n  environment:\n    %K: \"%N\"\n    %K: %k\n  depends_on: [%k]\n\n",
];

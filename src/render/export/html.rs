//! Exports a conversation as one HTML page: no scripts, no external resources, light and dark.

use std::io::{self, Write};

use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag, TagEnd};

use crate::archive::conversation::Message;
use crate::document::Kind;
use crate::render::export::{Entry, Export};
use crate::render::line_diff::{Mark, diff};
use crate::render::markdown::options;
use crate::render::message::{Body, Call};
use crate::untrusted::{for_terminal, one_line};

const STYLE: &str = include_str!("conversation.css");

/// Writes the HTML page.
pub(super) fn page(
    export: &Export<'_>,
    out: &mut dyn Write,
    entries: impl Iterator<Item = io::Result<(usize, Entry)>>,
) -> io::Result<()> {
    let title = escaped(&export.heading());
    writeln!(out, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">")?;
    writeln!(
        out,
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
    )?;
    writeln!(out, "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">")?;
    writeln!(
        out,
        "<meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"referrer\" content=\"no-referrer\">"
    )?;
    writeln!(
        out,
        "<title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<header>\n<h1>{title}</h1>\n<dl>"
    )?;
    for (name, value) in export.facts() {
        writeln!(out, "<div><dt>{name}</dt><dd>{}</dd></div>", escaped(&value))?;
    }
    writeln!(out, "</dl>\n</header>\n<main>")?;
    let mut section = Section::default();
    for entry in entries {
        let (depth, entry) = entry?;
        section.entry(export, out, depth, &entry)?;
    }
    section.close(out)?;
    writeln!(out, "</main>\n</body>\n</html>")
}

/// Consecutive entries by the same speaker.
#[derive(Default)]
struct Section {
    speaker: Option<(String, usize)>,
}

impl Section {
    fn entry(&mut self, export: &Export<'_>, out: &mut dyn Write, depth: usize, entry: &Entry) -> io::Result<()> {
        match entry {
            Entry::Remark(text) => {
                self.close(out)?;
                writeln!(out, "<p class=\"aside\">{}</p>", escaped(text))
            }
            Entry::Message { who, markdown, text, document } => {
                self.open(export, out, who, depth, document)?;
                match document.kind {
                    Kind::Thinking => writeln!(
                        out,
                        "<details class=\"thinking\"><summary>thinking</summary><pre class=\"words\">{}</pre></details>",
                        escaped(text)
                    ),
                    Kind::ToolResult | Kind::Output => writeln!(out, "<pre>{}</pre>", escaped(text)),
                    _ if *markdown => writeln!(out, "<div class=\"md\">{}</div>", markdown_html(text)),
                    _ => writeln!(out, "<pre class=\"words\">{}</pre>", escaped(text)),
                }
            }
            Entry::Call { call, document } => {
                let who = if document.agent.is_some() { "agent" } else { "claude" };
                self.open(export, out, who, depth, document)?;
                write_call(out, call)
            }
        }
    }

    fn open(
        &mut self,
        export: &Export<'_>,
        out: &mut dyn Write,
        who: &str,
        depth: usize,
        document: &Message,
    ) -> io::Result<()> {
        let is_turn = matches!(document.kind, Kind::Prompt | Kind::Queued | Kind::Command);
        if !is_turn && self.speaker.as_ref() == Some(&(who.to_string(), depth)) {
            return Ok(());
        }
        self.close(out)?;
        self.speaker = Some((who.to_string(), depth));
        let anchor = document.uuid.as_deref().unwrap_or_default();
        let anchor: String = anchor.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').collect();
        let class = who.replace(' ', "-");
        let depth = depth.min(3);
        writeln!(out, "<section class=\"{class} depth{depth}\" id=\"m-{anchor}-{}\">", document.line)?;
        let when = escaped(&export.when(document));
        writeln!(out, "<h2>{who} <a href=\"#m-{anchor}-{}\">{when}</a></h2>", document.line)
    }

    fn close(&mut self, out: &mut dyn Write) -> io::Result<()> {
        match self.speaker.take() {
            Some(_) => writeln!(out, "</section>"),
            None => Ok(()),
        }
    }
}

fn write_call(out: &mut dyn Write, call: &Call<'_>) -> io::Result<()> {
    let summary: String = one_line(&call.summary).chars().take(160).collect();
    let failed = call.result.as_ref().is_some_and(|result| result.failed);
    let class = if failed { "tool failed" } else { "tool" };
    // Changes are the most interesting part, so they are expanded.
    let open = if matches!(call.body, Body::Changes(_)) { " open" } else { "" };
    write!(out, "<details class=\"{class}\"{open}><summary><b>{}</b> ", escaped(&one_line(&call.tool)))?;
    writeln!(out, "<code>{}</code></summary>", escaped(&summary))?;
    match &call.body {
        Body::Changes(changes) => write_changes(out, changes)?,
        Body::Text(text) => writeln!(out, "<pre>{}</pre>", escaped(&for_terminal(text)))?,
        Body::Prose(text) => writeln!(out, "<div class=\"md\">{}</div>", markdown_html(&for_terminal(text)))?,
        Body::Nothing => {}
    }
    if let Some(result) = &call.result {
        let inner = escaped(for_terminal(&result.text).trim_end());
        let is_change = matches!(call.body, Body::Changes(_)) && !failed;
        if !inner.is_empty() && !is_change {
            writeln!(out, "<pre class=\"result\">{inner}</pre>")?;
        }
    }
    writeln!(out, "</details>")
}

fn write_changes(out: &mut dyn Write, changes: &[(String, String)]) -> io::Result<()> {
    write!(out, "<pre class=\"diff\">")?;
    for (old, new) in changes {
        for (mark, text) in diff(old, new) {
            let text = escaped(&for_terminal(text));
            match mark {
                Mark::Same => writeln!(out, " {text}")?,
                Mark::Removed => write!(out, "<del>-{text}\n</del>")?,
                Mark::Added => write!(out, "<ins>+{text}\n</ins>")?,
            }
        }
    }
    writeln!(out, "</pre>")
}

/// Escapes text for HTML.
pub(super) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '&' => safe.push_str("&amp;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            _ => safe.push(c),
        }
    }
    safe
}

/// Converts Markdown to HTML. HTML inside it is shown as text, and images become links, so nothing is loaded.
fn markdown_html(text: &str) -> String {
    let mut html = String::with_capacity(text.len() * 2);
    let mut links = Vec::new();
    let mut in_head = false;
    for event in Parser::new_ext(text, options()) {
        match event {
            Event::Start(tag) => open_tag(&mut html, &tag, &mut links, &mut in_head),
            Event::End(tag) => close_tag(&mut html, tag, &mut links, &mut in_head),
            Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => html.push_str(&escaped(&text)),
            Event::InlineMath(text) | Event::DisplayMath(text) => html.push_str(&escaped(&text)),
            Event::Code(text) => html.push_str(&format!("<code>{}</code>", escaped(&text))),
            Event::FootnoteReference(name) => html.push_str(&format!("[^{}]", escaped(&name))),
            Event::SoftBreak | Event::HardBreak => html.push_str("<br>\n"),
            Event::Rule => html.push_str("<hr>\n"),
            Event::TaskListMarker(done) => html.push_str(if done { "☑ " } else { "☐ " }),
        }
    }
    html
}

fn open_tag(html: &mut String, tag: &Tag<'_>, links: &mut Vec<bool>, in_head: &mut bool) {
    match tag {
        Tag::Paragraph | Tag::HtmlBlock => html.push_str("<p>"),
        Tag::Heading { level, .. } => html.push_str(&format!("<h{}>", (*level as usize + 2).min(6))),
        Tag::BlockQuote(_) => html.push_str("<blockquote>"),
        Tag::CodeBlock(CodeBlockKind::Fenced(name)) if &**name == "diff" => html.push_str("<pre class=\"diff\">"),
        Tag::CodeBlock(_) => html.push_str("<pre>"),
        Tag::List(Some(first)) => html.push_str(&format!("<ol start=\"{first}\">")),
        Tag::List(None) => html.push_str("<ul>"),
        Tag::Item => html.push_str("<li>"),
        Tag::Emphasis => html.push_str("<em>"),
        Tag::Strong => html.push_str("<strong>"),
        Tag::Strikethrough => html.push_str("<s>"),
        Tag::Table(_) => html.push_str("<div class=\"wide\"><table>"),
        Tag::TableHead => {
            *in_head = true;
            html.push_str("<tr>");
        }
        Tag::TableRow => html.push_str("<tr>"),
        Tag::TableCell => html.push_str(if *in_head { "<th>" } else { "<td>" }),
        Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
            let is_safe = ["https://", "http://", "mailto:"].iter().any(|scheme| dest_url.starts_with(scheme));
            links.push(is_safe);
            if is_safe {
                html.push_str(&format!("<a rel=\"noopener noreferrer nofollow\" href=\"{}\">", escaped(dest_url)));
            }
        }
        _ => {}
    }
}

fn close_tag(html: &mut String, tag: TagEnd, links: &mut Vec<bool>, in_head: &mut bool) {
    match tag {
        TagEnd::Paragraph | TagEnd::HtmlBlock => html.push_str("</p>\n"),
        TagEnd::Heading(level) => html.push_str(&format!("</h{}>\n", (level as usize + 2).min(6))),
        TagEnd::BlockQuote(_) => html.push_str("</blockquote>\n"),
        TagEnd::CodeBlock => html.push_str("</pre>\n"),
        TagEnd::List(true) => html.push_str("</ol>\n"),
        TagEnd::List(false) => html.push_str("</ul>\n"),
        TagEnd::Item => html.push_str("</li>\n"),
        TagEnd::Emphasis => html.push_str("</em>"),
        TagEnd::Strong => html.push_str("</strong>"),
        TagEnd::Strikethrough => html.push_str("</s>"),
        TagEnd::Table => html.push_str("</table></div>\n"),
        TagEnd::TableHead => {
            *in_head = false;
            html.push_str("</tr>\n");
        }
        TagEnd::TableRow => html.push_str("</tr>\n"),
        TagEnd::TableCell => html.push_str(if *in_head { "</th>" } else { "</td>" }),
        TagEnd::Link | TagEnd::Image => html.push_str(if links.pop() == Some(true) { "</a>" } else { "" }),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn html_in_the_text_is_escaped() {
        for (text, html) in [
            ("a **b** <script>x</script>", "<p>a <strong>b</strong> &lt;script&gt;x&lt;/script&gt;</p>\n"),
            ("[x](javascript:alert(1))", "<p>x</p>\n"),
            (
                "[x](https://e.org/?a=1&b=\"2\")",
                "<p><a rel=\"noopener noreferrer nofollow\" href=\"https://e.org/?a=1&amp;b=&quot;2&quot;\">x</a></p>\n",
            ),
            (
                "![p](https://e.org/p.png)",
                "<p><a rel=\"noopener noreferrer nofollow\" href=\"https://e.org/p.png\">p</a></p>\n",
            ),
            ("<img src=x onerror=y>", "<p>&lt;img src=x onerror=y&gt;</p>\n"),
            ("```html\n<b>\n```", "<pre>&lt;b&gt;\n</pre>\n"),
            (
                "| a |\n|---|\n| 1 |",
                "<div class=\"wide\"><table><tr><th>a</th></tr>\n<tr><td>1</td></tr>\n</table></div>\n",
            ),
        ] {
            assert_eq!(markdown_html(text), html);
        }
    }
}

use super::*;

#[track_caller]
fn becomes(html: &str, expected: &str) {
    let base = Url::parse("http://h.test/d/p.html").unwrap();
    assert_eq!(markdown(html, &base).trim_end_matches('\n'), expected, "{html}");
}

#[test]
fn headings_paragraphs_and_breaks() {
    becomes(
        "<head><title>no</title></head><h1> A <b>big</b>\n title<a class=headerlink href=#a>¶</a></h1>\
         <p>one<p>two<br>lines<hr>bare text<div>in a div</div><script>x</script>",
        "# A **big** title\n\none\n\ntwo  \nlines\n\n---\n\nbare text\n\nin a div",
    );
    becomes("", "");
    becomes("<h2></h2><p> </p>", "");
}

#[test]
fn emphasis_keeps_its_white_space_outside() {
    becomes("a<em> b </em>c <strong>d<b>e</b></strong>.", "a *b* c **de**.");
    becomes("<p><i></i>x<del>y</del><code>a`b  c</code><tt>`</tt>", "x~~y~~``a`b c```` ` ``");
    becomes("<b><i>both</b> after</i> end", "***both*** after end");
}

#[test]
fn links_and_images_are_absolute() {
    becomes(
        "<a href='../x?a=1#f'>to  x</a> <a href='#top'>up</a> <a name=n>named</a> \
         <a href='mailto:a@b.c'>mail</a> <a href=/i></a><img src=i.png alt='a [b]'>\
         <a href='y(z)'>odd</a><img src='data:image/png;base64,xx' alt=inline>",
        "[to x](http://h.test/x?a=1#f) [up](#top) named [mail](mailto:a@b.c) \
         ![a \\[b\\]](http://h.test/d/i.png)[odd](<http://h.test/d/y(z)>)inline",
    );
    becomes("<code>f(<a href=x>int</a> y)</code>", "`f(`[`int`](http://h.test/d/x) `y)`");
    becomes("<base href='http://o.test/'><a href=a>a</a>", "[a](http://o.test/a)");
}

#[test]
fn lists_nest_and_need_no_end_tags() {
    becomes(
        "<ul><li>one<li>two<ol start=3><li>three<li>four</ol><li><p>five</ul>",
        "- one\n- two\n  3. three\n  4. four\n- five",
    );
    becomes("<ol><li><p>a<p>b<li>c</ol>", "1. a\n\n   b\n\n2. c");
    becomes("<ul><li>x<pre>y\n  z</pre></ul>", "- x\n\n  ```\n  y\n    z\n  ```");
    becomes(
        "<dl><dt>term<dd>what it <i>is</i><dt>other<dd><p>a<p>b</dl>",
        "- term\n\n  what it *is*\n\n- other\n\n  a\n\n  b",
    );
}

#[test]
fn quotations_and_code() {
    becomes(
        "<blockquote><p>a<p>b</blockquote><pre class='language-rust'>\nlet a = \"```\";\n</pre>\
         <div class='highlight-python3 notranslate'><div class=highlight><pre><span>x</span> = 1\n\
         </pre></div></div><pre></pre>",
        "> a\n>\n> b\n\n````rust\nlet a = \"```\";\n````\n\n```python3\nx = 1\n```",
    );
}

#[test]
fn tables_of_data_are_tables_and_those_of_layout_are_not() {
    becomes(
        "<table><caption>C</caption><thead><tr><th>a<th>b|c</thead><tr><td><p>1<td>2<br>3\
         <tr><td>only</table>after",
        "C\n\n| a | b\\|c |\n| --- | --- |\n| 1 | 2<br>3 |\n| only |  |\n\nafter",
    );
    becomes("<table><tr><td>1<td>2</table>", "|  |  |\n| --- | --- |\n| 1 | 2 |");
    becomes("<table><tr><td><h1>x</h1><p>y<td><ul><li>z</ul></table>", "# x\n\ny\n\n- z");
    becomes("<table><tr><td>a<tr><td>b</table>", "a\n\nb");
}

#[test]
fn text_that_looks_like_markup_stays_text() {
    becomes("<p># no", "\\# no");
    becomes("<p>1. no<p>2024) yes<p>3.14<p>- no", "1\\. no\n\n2024\\) yes\n\n3.14\n\n\\- no");
    becomes(
        "a*b _c_ d_e [f] &lt;g> &amp;lt; `h`",
        "a\\*b \\_c\\_ d_e \\[f\\] \\<g> \\&lt; \\`h\\`",
    );
}

#[test]
fn nothing_is_too_deep_or_too_broken() {
    for tag in ["ul><li", "blockquote", "div", "b", "table><tr><td", "dl><dd", "em", "a href=x"] {
        let html = format!("{}deep", format!("<{tag}>").repeat(20_000));
        let text = markdown(&html, &Url::parse("http://h.test/").unwrap());
        assert!(text.contains("deep"), "{tag}");
        assert!(text.len() < 20 * html.len(), "{tag}: {}", text.len());
    }
    becomes("</p></td></table><li>a</li></ul>b", "a\n\nb");
    becomes("<table><td>x</div></p>y<td>z", "|  |  |\n| --- | --- |\n| xy | z |");
}

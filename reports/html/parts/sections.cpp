// SPDX-License-Identifier: Apache-2.0
#include "reports/html/parts/sections.h"

#include <fmt/format.h>

#include <cctype>

#include "reports/html/parts/glossary.h"
#include "reports/html/text.h"

namespace kappascope::reports {
namespace {

/// "Lemma 2" as "lemma-2".
std::string anchor_of(std::string topic) {
  for (char& c : topic) {
    const auto byte = static_cast<unsigned char>(c);
    c = std::isalnum(byte) != 0 ? static_cast<char>(std::tolower(byte)) : '-';
  }
  return topic;
}

/// The evidence unfolds; a finding without any is a plain line.
std::string line_of(const Finding& finding, Explain& explain) {
  const std::string kind = finding.warning ? "finding warning" : "finding";
  const std::string text = escape_html(finding.text);  // a summary holds no links
  if (finding.certainty.empty()) {
    return fmt::format(
        "<p class=\"{}\" data-finding=\"{}\">{}</p>", kind, escape_html(finding.id), text);
  }
  return fmt::format(
      "<details class=\"{}\" data-finding=\"{}\"><summary>{}</summary>"
      "<p class=\"certainty\">{}</p></details>",
      kind,
      escape_html(finding.id),
      text,
      explain(finding.certainty));
}

/// Findings [begin, end) of one kind: lines of their own where they are few, or no kind folds them.
std::string lines_of(const std::vector<Finding>& all,
                     std::size_t begin,
                     std::size_t end,
                     Explain& explain) {
  constexpr std::size_t kFew = 2;
  std::string lines;
  bool warning = false;
  for (std::size_t i = begin; i < end; ++i) {
    lines += line_of(all[i], explain);
    warning = warning || all[i].warning;
  }
  const std::string words = in_words(all[begin].id);
  if (end - begin <= kFew || words.empty()) return lines;
  return fmt::format(
      "<details class=\"finding{}\" data-findings=\"{}\"><summary>{}: {} findings</summary>{}"
      "</details>",
      warning ? " warning" : "",
      escape_html(all[begin].id),
      escape_html(words),
      end - begin,
      lines);
}

}  // namespace

std::string findings_html(const std::vector<Finding>& findings, bool about_documents, int level) {
  Explain explain;
  std::string out;
  std::string topic;
  for (std::size_t begin = 0; begin < findings.size();) {
    std::size_t end = begin + 1;
    while (end < findings.size() && findings[end].id == findings[begin].id &&
           findings[end].topic == findings[begin].topic)
      ++end;
    if (is_about_documents(findings[begin]) == about_documents) {
      if (findings[begin].topic != topic) {
        if (!topic.empty()) out += "</div>";
        topic = findings[begin].topic;
        out += fmt::format("<h{2} id=\"topic-{0}\">{1}</h{2}><div class=\"topic\">",
                           anchor_of(topic),
                           escape_html(topic),
                           level);
      }
      out += lines_of(findings, begin, end, explain);
    }
    begin = end;
  }
  if (!topic.empty()) out += "</div>";
  if (out.empty() && !about_documents) return "<p>Nothing was measured in these runs.</p>";
  return out.empty() ? "" : "<div class=\"findings\">" + out + "</div>";
}

std::string highlight_html(const Highlight& highlight) {
  Explain explain;
  const auto line = [](const char* kind, const std::string& html) {
    return html.empty() ? "" : fmt::format("<p class=\"{}\">{}</p>", kind, html);
  };
  const auto text = explain(highlight.text);
  return fmt::format("<h3{}>{}</h3>{}{}",
                     highlight.bad       ? " class=\"warning bad\""
                     : highlight.warning ? " class=\"warning\""
                                         : "",
                     text,
                     line("certainty", explain(highlight.certainty)),
                     line("todo", explain(highlight.todo)));
}

std::string figure_html(const Figure& figure, int level, bool first) {
  Explain explain;
  std::string notes;
  for (const auto& note : figure.notes) notes += "<li>" + explain(note) + "</li>";
  if (!notes.empty()) notes = fmt::format("<ul class=\"notes\">{}</ul>", notes);
  return fmt::format(
      "<section class=\"figure\" id=\"{0}\" aria-labelledby=\"{0}-title\">"
      "<h{4} id=\"{0}-title\">{1} <a class=\"permalink\" href=\"#{0}\" "
      "aria-label=\"Link to this figure\">#</a></h{4}>{2}"
      "<div class=\"key\" data-key=\"{0}\"></div>"
      "<div class=\"plot\" id=\"plot-{0}\" role=\"img\" aria-labelledby=\"{0}-title\"></div>"
      "<div class=\"below\"><details class=\"read\"{5}><summary>How to read this</summary>"
      "<p class=\"caption\">{3}</p></details>"
      "<p class=\"data\"><a href=\"#{0}\" download=\"{0}.csv\" data-csv=\"{0}\">Data (CSV)</a> "
      "<a href=\"#{0}\" download=\"{0}.svg\" data-svg=\"{0}\">Picture (SVG)</a> "
      "<span>Drag to zoom, double-click to go back.</span></p></div></section>\n",
      figure.id,
      escape_html(figure.title),
      notes,
      explain(figure.caption),
      level,
      first ? " open" : "");
}

std::string not_drawn_html(const std::vector<Figure>& figures, int level) {
  std::string items;
  for (const Figure& figure : figures) {
    if (!figure.panels.empty()) continue;
    items += fmt::format("<li class=\"missing\" id=\"{}\"><b>{}.</b> {}</li>",
                         figure.id,
                         escape_html(figure.title),
                         escape_html(figure.missing));
  }
  if (items.empty()) return "";
  return fmt::format(
      "<section id=\"not-measured\" aria-labelledby=\"not-measured-title\">"
      "<h{0} id=\"not-measured-title\">What was not measured</h{0}><ul>{1}</ul></section>\n",
      level,
      items);
}

}  // namespace kappascope::reports

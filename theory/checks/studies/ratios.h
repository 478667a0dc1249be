// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "theory/checks/studies/contrasts.h"
#include "theory/claim.h"

namespace kappascope::theory {

/// By what factor `contrast.arm` has more of a positive quantity than its control: the geometric
/// mean over the pairs of a study, with its interval; the document's factor beside it. Measured,
/// not decided: a factor belongs to the sizes at which it was found. Those of `beside` are
/// reported.
Verdict check_ratio(const StudyRuns& study,
                    const Contrast& contrast,
                    double published,
                    const std::vector<Contrast>& beside = {});

/// "The arm's runs spread less": the ratio of the variances of a last value over the seeds, with
/// the interval that normal values give it (F). Holds when the F test finds it below 1, refuted
/// when above; too few runs otherwise, with the ratio that would have been seen. One condition.
Verdict check_less_spread(const StudyRuns& study, const Contrast& contrast, double published);

/// What a check of one run measures: a number of any size, or a share of cases.
enum class EachRun { kNumber, kShare };

/// A check of one run on every run of one arm, with an interval over the seeds (runs of one seed
/// begin with the same weights): the mean of a number over the seeds, with Student's; a share of
/// all cases, with that of clustered_share(), a seed a cluster. Measured; each condition of the
/// study is named with its own median, and the run that is farthest off with its witness. Runs on
/// which the check cannot be made are counted.
Verdict check_each_run(const StudyRuns& study,
                       const std::string& arm,
                       EachRun kind,
                       const std::function<Verdict(const CheckContext&)>& check);

}  // namespace kappascope::theory

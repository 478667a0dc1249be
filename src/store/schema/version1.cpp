// SPDX-License-Identifier: Apache-2.0
#include "store/schema/version1.h"

#include <string>

namespace kappascope::store {

const char* const kStatusFromVersion1 = R"sql(
  CASE WHEN name = 'features/products'
         OR name GLOB 'spectrum/*/product_type' OR name GLOB 'spectrum/*/product_kind'
         OR name GLOB 'spectrum/*/product_reason'
       THEN 'ok' ELSE status END)sql";

// A run without limits said so in its configuration: two lines that are a key and a zero.
const char* const kAttributesFromVersion1 = R"sql(
  CASE WHEN name = 'features/products' THEN json_object('route', status)
       WHEN name GLOB 'spectrum/*/product_type' OR name GLOB 'spectrum/*/product_kind'
         OR name GLOB 'spectrum/*/product_reason'
       THEN json_object('text', status)
       WHEN name GLOB 'cost/*' AND name <> 'cost/total'
         AND EXISTS (SELECT 1 FROM facts WHERE key = 'config'
           AND instr(char(10) || value || char(10), char(10) || 'budget = 0' || char(10)) > 0
           AND instr(char(10) || value || char(10),
                     char(10) || 'hessian-budget = 0' || char(10)) > 0)
       THEN json_object('budget', '0') END)sql";

void migrate_version1(SQLite::Database& sql) {
  SQLite::Transaction transaction(sql, SQLite::TransactionBehavior::IMMEDIATE);
  sql.exec("ALTER TABLE scalars ADD COLUMN attributes TEXT");
  sql.exec(std::string("UPDATE scalars SET status = ") + kStatusFromVersion1 +
           ", attributes = " + kAttributesFromVersion1 +
           " WHERE name = 'features/products' OR name GLOB 'spectrum/*' OR name GLOB 'cost/*'");
  sql.exec("PRAGMA user_version = 2");
  transaction.commit();
}

}  // namespace kappascope::store

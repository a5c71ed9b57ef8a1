// Why an import cannot be done.

import Foundation
import QuireStorage

/// Why an import cannot be done.
package struct ImportError: Error, Hashable, Sendable, CustomStringConvertible {
  /// What is wrong, where, and what helps.
  package let description: String

  init(_ description: String) { self.description = description }

  /// What the system says, and of which file.
  init(_ error: SystemError, _ path: String) { description = "\(path): \(String(cString: strerror(error.code)))" }
}

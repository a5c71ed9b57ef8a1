// Why an import cannot be done.

import Foundation
import QuireStorage

/// Why an import cannot be done.
package struct ImportError: Error, Hashable, Sendable, CustomStringConvertible {
  /// What is wrong, where, and what helps.
  package let description: String

  init(_ description: String) { self.description = description }

  /// What the system says of an error of Foundation's; else the error itself.
  package static func reason(_ error: any Error) -> String {
    if type(of: error) is NSError.Type || error is CocoaError || error is POSIXError {
      let told = error as NSError
      let cause = told.userInfo[NSUnderlyingErrorKey] as? NSError ?? told
      if cause.domain == NSPOSIXErrorDomain { return String(cString: strerror(Int32(truncatingIfNeeded: cause.code))) }
      return told.localizedDescription
    }
    return "\(error)"
  }

  /// What the system says, and of which file.
  init(_ error: SystemError, _ path: String) { description = "\(path): \(String(cString: strerror(error.code)))" }
}

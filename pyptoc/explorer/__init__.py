"""
The pass explorer, `--explore`: what every pass did, as one page.

    command     compiles with a recorder watching, and writes the page
    recorder    the IR after every pass, each distinct text once
    located     a printer that knows the source places of every line
    memory      buffers by address and life
    launches    launches and what they wait for
    timing      the modelled timeline
    page        all of it as HTML; `page/` has the style and the scripts
"""
